import type { Logger } from '../core/logger.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/** Structured logs: one JSON object a line on stderr, from this level up. */
export function jsonLogger(least: Level, fixed: Readonly<Record<string, unknown>> = {}): Logger {
  const write = (level: Level, message: string, fields: Readonly<Record<string, unknown>> = {}) => {
    if (levels.indexOf(level) < levels.indexOf(least)) return;
    const line = { time: new Date().toISOString(), level, message, ...fixed, ...fields };
    process.stderr.write(`${JSON.stringify(line)}\n`);
  };
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  };
}
