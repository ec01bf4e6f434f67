import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { listSteps, listTriggers } from '../workflows/stored-definition.ts'

const CONTACT_STEPS: ReadonlySet<unknown> = new Set([
  'send_message',
  'send_template',
  'ask',
  'wait_for_reply',
  'handoff',
])

/** Warns of steps that need a contact in a workflow whose schedule has no group: its runs have no contact. */
export function checkContactRequired(definition: unknown): Problem[] {
  const isContactless = listTriggers(definition).some(
    ({ fields }) => fields['type'] === 'schedule' && fields['groupId'] === undefined,
  )
  const step = isContactless ? listSteps(definition).find(({ fields }) => CONTACT_STEPS.has(fields['type'])) : undefined
  if (!step) return []
  const description = 'needs a contact, and a schedule without groupId starts runs without one'
  return [problemAt(step.location, '', 'no_contact', description)]
}
