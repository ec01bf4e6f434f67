import type { DestinationStream } from 'pino'

/** Writes the log for a person at a terminal. Synchronous, so that the last lines before an exit are written. */
export async function createPrettyDestination(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty')
  return pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true })
}
