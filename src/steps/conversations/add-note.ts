import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'
import { requireConversation } from '../contacts/contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'
import { fillBody } from '../messages/message.ts'

/** Writes something into the conversation that only the workspace's people see. */
export const addNote = defineStep({
  type: 'add_note',
  schema: z.strictObject({ body: templateText }),
  execute(config, turn) {
    requireConversation(turn)
    const body = fillBody(config.body, turn)
    const noteId = turn.newId()
    const effect: WorkflowEffect = { type: 'add_note', noteId, body }
    return { kind: 'next', input: { body }, output: { messageId: noteId }, effects: [effect] }
  },
})
