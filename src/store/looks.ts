import { sql } from 'kysely';
import type { Queries } from './database.ts';

/** Draws the ticket of a look: greater than every one drawn before, anywhere. Draw it before reading (G10). */
export async function drawTicket(queries: Queries): Promise<number> {
  const { rows } = await sql<{ ticket: number }>`select nextval('look_ticket') as ticket`.execute(queries);
  return (rows[0] as { ticket: number }).ticket;
}
