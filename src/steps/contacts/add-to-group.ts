import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { requireContact, listGroupIds } from './contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Adds the contact to a group; a member of the group stays one. */
export const addToGroup = defineStep({
  type: 'add_to_group',
  needsContact: true,
  schema: z.strictObject({ groupId: z.uuid('must be the id of a group').toLowerCase() }),
  literal: ['groupId'],
  output: () => ({ added: null }),
  execute({ groupId }, context) {
    const present = listGroupIds(requireContact(context))
    if (present.includes(groupId)) return { kind: 'next', input: { groupId }, output: { added: false } }
    const effect: WorkflowEffect = { type: 'add_to_group', groupId }
    const facts = { contact: { groupIds: [...present, groupId] } }
    return { kind: 'next', input: { groupId }, output: { added: true }, effects: [effect], facts }
  },
})
