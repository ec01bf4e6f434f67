import { z } from 'zod'
import { Condition } from '../conditions/index.ts'
import { defineTrigger } from '../engine/model/trigger.ts'

/** Triggers without fields of their own: every event of their type matches. */
export const conversationOpened = simpleTrigger('conversation_opened')
export const conversationClosed = simpleTrigger('conversation_closed')
export const contactCreated = simpleTrigger('contact_created')
export const api = simpleTrigger('api')
export const manual = simpleTrigger('manual')

function simpleTrigger<Type extends string>(type: Type) {
  return defineTrigger({ type, schema: z.strictObject({ type: z.literal(type), if: Condition.optional() }) })
}
