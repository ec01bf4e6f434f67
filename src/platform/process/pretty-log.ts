import type { DestinationStream } from 'pino'
import pretty from 'pino-pretty'

/** Writes the log for a person at a terminal. Synchronous, so that the last lines before an exit are written. */
export function createPrettyDestination(): DestinationStream {
  return pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true })
}
