import { Webhook } from 'standardwebhooks'
import type { EventData } from '../../src/models/automation.ts'
import { ScriptedServer } from './scripted-server.ts'

export type ReceivedEvent = {
  id: string
  type: string
  sequence: number | null
  timestamp: string
  workspaceId: string
  data: EventData
  payload?: Record<string, unknown> | null
  resource?: Record<string, unknown> | null
}

/** Reads the events that a receiver got, in their order. Throws if the signature of one is wrong. */
export function readEvents(receiver: ScriptedServer, secret: string): ReceivedEvent[] {
  return receiver.calls.map(({ headers, body }) => {
    const event = JSON.parse(body)
    // The package accepts signatures of the last five minutes, and the clock of a test is another one.
    verify({ headers, body }, secret)
    if (headers['webhook-id'] !== event.id) throw new Error('The ID of the event is not that of the call')
    return event
  })
}

type SignedCall = Pick<ScriptedServer['calls'][number], 'headers' | 'body'>

/** Verifies a call as receivers do, but for its age. */
export function verify({ headers, body }: SignedCall, secret: string): void {
  const id = String(headers['webhook-id'])
  const timestamp = Number(headers['webhook-timestamp'])
  const signature = new Webhook(secret).sign(id, new Date(timestamp * 1000), body)
  if (!String(headers['webhook-signature']).split(' ').includes(signature)) throw new Error('The signature is wrong')
}
