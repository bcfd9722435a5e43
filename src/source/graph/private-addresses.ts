import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const privateRanges = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  privateRanges.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  privateRanges.addSubnet(net, bits, 'ipv6');

/** Whether an address is one of this computer, this link or a private network, or none at all (T27). */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  return family === 0 || privateRanges.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** A name that is trusted may still be made to lead inside; it is asked once, and what is checked here is what is connected to. */
export class PrivateAddressError extends Error {}

/** Looks a name up as usual, and fails with `PrivateAddressError` where any of its addresses is private. */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const [first] = found ?? [];
    if (error !== null || first === undefined) return callback(error ?? new Error('no address'), []);
    if (found.some(({ address }) => isPrivateAddress(address)))
      return callback(new PrivateAddressError('The name leads to a private address.'), []);
    return options.all === true ? callback(null, found) : callback(null, first.address, first.family);
  });
};
