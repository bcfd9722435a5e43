/** The system's word for an error, such as `EACCES`; empty where there is none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether the error is about this process and no file: too many open ones, no memory, a fault of ours. */
export function isOwnTrouble(error: unknown): boolean {
  const code = errorCode(error);
  return !code.startsWith('E') || code.startsWith('ERR_') || ['EMFILE', 'ENFILE', 'ENOMEM'].includes(code);
}
