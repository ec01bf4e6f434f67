import type { RouterOutputs } from '@parley/client'

export type Contact = RouterOutputs['contacts']['get']
export type Conversation = RouterOutputs['conversations']['get']
type Consent = RouterOutputs['contacts']['getConsent']

const STATES: Readonly<Record<Consent['marketing'], { words: string; tone: string }>> = {
  opted_in: { words: 'opted in', tone: 'tone-good' },
  opted_out: { words: 'opted out', tone: 'tone-bad' },
  unknown: { words: 'not asked', tone: '' },
}

/** A consent as a word with a color. */
export function describeMarketing(state: Consent['marketing']) {
  return <span className={`status ${STATES[state].tone}`}>{STATES[state].words}</span>
}

export function TagList({ tags }: { tags: Contact['tags'] }) {
  if (tags.length === 0) return <span className="muted">none</span>
  return (
    <ul className="tag-list">
      {tags.map(({ id, name }) => (
        <li key={id}>{name}</li>
      ))}
    </ul>
  )
}

const SOURCES: Readonly<Record<string, string>> = {
  api: 'by a program',
  keyword: 'by a keyword',
  import: 'by an import',
  workflow: 'by a workflow',
  provider: 'in WhatsApp',
  manual: 'by a member',
}

/** The origin of a consent in words. */
export function describeSource(source: string): string {
  return SOURCES[source] ?? source.replaceAll('_', ' ')
}

const PAUSE_REASONS: Readonly<Record<NonNullable<Conversation['automation']['reason']>, string>> = {
  human_reply: 'a member replied',
  handoff: 'a workflow handed over to members',
  manual: 'a member paused it',
  opt_out: 'the contact opted out',
}

/** The reason for which workflows do not answer a conversation. */
export function describePause({ reason }: Conversation['automation']): string {
  return reason === null ? '' : PAUSE_REASONS[reason]
}
