import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { matchesText, messageReceived } from '../../triggers/message-received.ts'

type TriggerContext = {
  trigger: { type: string } & Record<string, unknown>
  body: string | null
  compiled: CompiledDefinition | undefined
}

const SENTENCES: Record<string, string> = {
  conversation_opened: 'The conversation was opened',
  conversation_closed: 'The conversation was closed',
  group_joined: 'The contact was added to the group',
  group_left: 'The contact was removed from the group',
  contact_created: 'The contact was created',
  broadcast_replied: 'The contact replied to a broadcast',
  api: 'The workflow was started with the API',
  manual: 'The workflow was started manually',
  webhook: 'The webhook of the workflow was called',
  schedule: 'The workflow was started by its schedule',
  workflow: 'A run of another workflow started the workflow',
}

/** Describes in one sentence what started a run; for a message, which values of the trigger it matched. */
export function describeTrigger(context: TriggerContext): string {
  const { trigger } = context
  if (trigger.type === 'message_received') return describeMessage(context)
  if (trigger.type === 'tag_added') return `The tag "${String(trigger['tag'] ?? '')}" was added`
  if (trigger.type === 'contact_updated') return `The contact was updated: ${[trigger['fields']].flat().join(', ')}`
  if (trigger.type === 'tag_removed') return `The tag "${String(trigger['tag'] ?? '')}" was removed`
  if (trigger.type === 'event') return `The event "${String(trigger['event'] ?? '')}" was sent`
  return SENTENCES[trigger.type] ?? `A trigger of type ${trigger.type} fired`
}

function describeMessage({ body, compiled }: TriggerContext): string {
  const text = body ?? ''
  const matching = (compiled?.triggers ?? [])
    .filter(messageReceived.is)
    .filter(({ match }) => matchesText(match, text))
    .sort((a, b) => b.priority - a.priority)
  const [match] = matching.map((trigger) => trigger.match)
  if (!match || match.mode === 'any') return 'A message was received, and the trigger accepts any message'
  const values = match.values.filter((value) => matchesText({ ...match, values: [value] }, text))
  return `The message ${VERBS[match.mode]} ${values.map((value) => `"${value}"`).join(', ')}`
}

const VERBS = { exact: 'is', contains: 'contains', starts_with: 'starts with', regex: 'matches' }
