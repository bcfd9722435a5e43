/** A look came to nothing through no fault of its package: it is begun anew, with the same trigger. */
export class LookAgain extends Error {
  override readonly name = 'LookAgain';
}

/** There is nothing to look at, by the registry or the root; whoever asked has been answered. */
export class NothingToLookAt extends Error {
  override readonly name = 'NothingToLookAt';
}
