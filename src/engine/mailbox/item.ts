import { z } from 'zod'
import type { Mailbox } from '../model/mailbox-key.ts'
import type { MessageFacts } from '../model/run.ts'
import type { ExternalResult } from '../model/step.ts'
import type { TriggerEvent } from '../model/trigger.ts'

/** The kinds of mailbox items with their payloads. */
export type ItemContent =
  /** A message of the customer. Its event may start runs, unless a waiting run uses the message as a reply. */
  | { kind: 'message'; payload: { messageId: string; event: TriggerEvent } }
  /** An event that may start runs. `depth`: number of runs between it and the person or external event behind it. */
  | { kind: 'event'; payload: { event: TriggerEvent; messageId: string | null; depth: number } }
  | { kind: 'timer'; payload: { runId: string; epoch: number } }
  | { kind: 'start' | 'cancel' | 'fail'; payload: { runId: string } }
  | { kind: 'result'; payload: { runId: string; epoch: number; result: ExternalResult } }
  | { kind: 'signal'; payload: { runId: string; event: string; data: unknown } }

export type ItemKind = ItemContent['kind']

/** An item that no run has processed yet, with its message if that was read with it. */
export type MailboxItem = {
  id: string
  mailbox: Mailbox
  attempts: number
  message?: MessageFacts | undefined
  /** Context of the trace that the item continues, if it continues one. */
  traceparent?: string | null
} & ItemContent

/** An item to put into a mailbox. It is not processed before `dueAt`. */
export type NewItem = { id: string; mailbox: Mailbox; dueAt?: Date } & ItemContent

/**
 * The first item of a mailbox, as far as it is needed to handle its failure. `isOld` is true an hour after it was put: what
 * fails then has perhaps no other cause than the item.
 */
export type NextItem = { id: string; runId: string | null; isLastAttempt: boolean; isOld: boolean }

/** Builds the schema that parses stored items. `event` is the product's schema of trigger events. */
export function itemContentSchema(event: z.ZodType<TriggerEvent>): z.ZodType<ItemContent> {
  const runId = z.string()
  const item = <Kind extends ItemKind, Payload extends z.ZodType>(kind: Kind, payload: Payload) =>
    z.object({ kind: z.literal(kind), payload })
  return z.discriminatedUnion('kind', [
    item('message', z.object({ messageId: z.string(), event })),
    item('event', z.object({ event, messageId: z.string().nullable(), depth: z.number() })),
    item('timer', z.object({ runId, epoch: z.number() })),
    item('start', z.object({ runId })),
    item('cancel', z.object({ runId })),
    item('fail', z.object({ runId })),
    item('result', z.object({ runId, epoch: z.number(), result: externalResult })),
    item('signal', z.object({ runId, event: z.string(), data: z.unknown() })),
  ])
}

const externalResult: z.ZodType<ExternalResult> = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), output: z.unknown() }),
  z.object({
    ok: z.literal(false),
    error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean().exactOptional() }),
  }),
])
