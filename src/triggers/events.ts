import { z } from 'zod'
import { type Fields, toFields } from '../engine/language/fields.ts'
import type { MessageFacts } from '../engine/model/run.ts'
import { FACTS } from './facts.ts'

/** Set if the message, or the one that caused the event, is a consent keyword: workflows do not react to it. */
const consentKeyword = z.string().exactOptional()

/** Events that may start workflows, as they are stored in mailbox items. */
export const WorkflowEvent = z.discriminatedUnion('type', [
  /** `isFirst`: the message is the first since its conversation was opened. */
  z.object({
    type: z.literal('message_received'),
    channelId: z.string(),
    isFirst: z.boolean().exactOptional(),
    consentKeyword,
  }),
  z.object({ type: z.literal('conversation_opened'), consentKeyword }),
  z.object({ type: z.literal('conversation_closed') }),
  z.object({ type: z.literal('contact_created'), consentKeyword }),
  z.object({ type: z.literal('contact_updated'), fields: z.array(z.string()) }),
  z.object({ type: z.literal('tag_added'), tag: z.string() }),
  z.object({ type: z.literal('tag_removed'), tag: z.string() }),
  z.object({ type: z.literal('group_joined'), groupId: z.string() }),
  z.object({ type: z.literal('group_left'), groupId: z.string() }),
  z.object({
    type: z.literal('broadcast_replied'),
    broadcastId: z.string(),
    recipientId: z.string(),
    /** Time since the message of the broadcast was sent. */
    afterMs: z.number(),
  }),
  z.object({ type: z.literal('api'), input: z.unknown().exactOptional() }),
  z.object({ type: z.literal('manual'), input: z.unknown().exactOptional() }),
  z.object({ type: z.literal('event'), event: z.string(), data: z.unknown() }),
])
export type WorkflowEvent = z.output<typeof WorkflowEvent> & { message?: MessageFacts | null }

export type EventByType<Type extends WorkflowEvent['type']> = Extract<WorkflowEvent, { type: Type }>

/** Fields of the events by type, as the conditions of triggers read them. They read none with a `consentKeyword`. */
export const eventFields: ReadonlyMap<string, Fields> = new Map(
  WorkflowEvent.options.map(({ shape }) => {
    const names = Object.keys(shape).filter((name) => name !== 'consentKeyword')
    return [shape.type.value, { ...toFields(names), message: FACTS.message }]
  }),
)
