import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'
import { requireConversation } from '../contacts/contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'
import { fillBody } from '../messages/message.ts'

/** Adds an internal note to the conversation, visible to members of the workspace only. */
export const addNote = defineStep({
  type: 'add_note',
  needsContact: true,
  schema: z.strictObject({ body: templateText }),
  output: () => ({ messageId: null }),
  execute(config, context) {
    requireConversation(context)
    const body = fillBody(config.body, context)
    const noteId = context.newId()
    const effect: WorkflowEffect = { type: 'add_note', noteId, body }
    return { kind: 'next', input: { body }, output: { messageId: noteId }, effects: [effect] }
  },
})
