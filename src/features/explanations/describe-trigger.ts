import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { matchesText, messageReceived } from '../../triggers/message-received.ts'

type Started = {
  trigger: { type: string } & Record<string, unknown>
  body: string | null
  compiled: CompiledDefinition | undefined
}

const SENTENCES: Record<string, string> = {
  conversation_opened: 'The conversation was opened',
  conversation_closed: 'The conversation was closed',
  group_joined: 'The contact was added to the group',
  group_left: 'The contact was taken out of the group',
  contact_created: 'The contact was created',
  api: 'Somebody called the API',
  manual: 'Somebody started it by hand',
  webhook: 'The webhook of the workflow was called',
  schedule: 'It was the time that the schedule names',
  workflow: 'A run of another workflow started it',
}

/** What started a run, in a sentence: of a message, which of the words wanted it has. */
export function describeTrigger(started: Started): string {
  const { trigger } = started
  if (trigger.type === 'message_received') return describeMessage(started)
  if (trigger.type === 'tag_added') return `The tag "${String(trigger['tag'] ?? '')}" was added`
  if (trigger.type === 'contact_updated') return `The contact was changed: ${[trigger['fields']].flat().join(', ')}`
  if (trigger.type === 'tag_removed') return `The tag "${String(trigger['tag'] ?? '')}" was removed`
  if (trigger.type === 'event') return `The event "${String(trigger['event'] ?? '')}" was raised`
  return SENTENCES[trigger.type] ?? `A trigger of type ${trigger.type} fired`
}

function describeMessage({ body, compiled }: Started): string {
  const text = body ?? ''
  const matching = (compiled?.triggers ?? [])
    .filter(messageReceived.is)
    .filter(({ match }) => matchesText(match, text))
    .sort((a, b) => b.priority - a.priority)
  const [match] = matching.map((trigger) => trigger.match)
  if (!match || match.mode === 'any') return 'A message came in, and the trigger takes any'
  const met = match.values.filter((value) => matchesText({ ...match, values: [value] }, text))
  return `The message ${VERBS[match.mode]} ${met.map((value) => `"${value}"`).join(', ')}`
}

const VERBS = { exact: 'is', contains: 'contains', starts_with: 'starts with', regex: 'matches' }
