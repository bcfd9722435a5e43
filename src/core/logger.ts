/**
 * Where a process says what it does. A message is a fixed sentence; whatever varies goes into `fields`, so that a line
 * can be filtered and never holds a key, a token, a file's body or a request's body (T24).
 */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}
