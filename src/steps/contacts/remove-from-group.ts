import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { requireContact, listGroupIds } from './contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Removes the contact from a group; a contact outside the group stays as it is. */
export const removeFromGroup = defineStep({
  type: 'remove_from_group',
  needsContact: true,
  schema: z.strictObject({ groupId: z.uuid('must be the id of a group').toLowerCase() }),
  literal: ['groupId'],
  output: () => ({ removed: null }),
  execute({ groupId }, context) {
    const present = listGroupIds(requireContact(context))
    if (!present.includes(groupId)) return { kind: 'next', input: { groupId }, output: { removed: false } }
    const effect: WorkflowEffect = { type: 'remove_from_group', groupId }
    const facts = { contact: { groupIds: present.filter((id) => id !== groupId) } }
    return { kind: 'next', input: { groupId }, output: { removed: true }, effects: [effect], facts }
  },
})
