import { Link } from 'wouter'
import { Loading, Problem } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { type Broadcast, findReason, type Recipient, type Remedy } from './broadcast-words.ts'
import { RECIPIENTS_MAX, useRecipients } from './recipients.ts'

const NAMED = 8

/** Recipients who were not sent the message, by the reason. */
export function Reasons({ broadcast: { id, counts } }: { broadcast: Broadcast }) {
  const failed = useRecipients(id, { status: 'failed', count: counts.failed })
  const unknown = useRecipients(id, { status: 'unknown', count: counts.unknown })
  const skipped = useRecipients(id, { status: 'skipped', count: counts.skipped })
  const lists = [failed, unknown, skipped]
  const groups = groupByReason(lists.flatMap(({ items }) => items))
  const isCut = [counts.failed, counts.unknown, counts.skipped].some((count) => count > RECIPIENTS_MAX)
  return (
    <section className="card" aria-label="Failed and skipped">
      <div className="card-head">
        <h2>Failed and skipped, by reason</h2>
      </div>
      {lists.map(({ error }, index) => (
        <Problem key={index} error={error} />
      ))}
      {groups.length === 0 && lists.some(({ isPending }) => isPending) && <Loading height={96} />}
      {groups.length === 0 && counts.failed + counts.unknown + counts.skipped === 0 && (
        <p className="card-body muted">Nobody failed, and nobody was skipped.</p>
      )}
      <ul className="reason-list">
        {groups.map((group) => (
          <ReasonItem key={group.key} group={group} />
        ))}
      </ul>
      {isCut && (
        <p className="card-body muted">The first {RECIPIENTS_MAX.toLocaleString('en')} of each status are counted.</p>
      )}
    </section>
  )
}

type Group = Remedy & { key: string; code: string; status: Recipient['status']; recipients: Recipient[] }

function groupByReason(recipients: readonly Recipient[]): Group[] {
  const groups = new Map<string, Group>()
  for (const recipient of recipients) {
    const reason = findReason(recipient)
    if (!reason) continue
    const key = `${recipient.status} ${reason.code} ${reason.words}`
    const group = groups.get(key) ?? { ...reason, key, status: recipient.status, recipients: [] }
    group.recipients.push(recipient)
    groups.set(key, group)
  }
  return [...groups.values()].sort((one, other) => other.recipients.length - one.recipients.length)
}

function ReasonItem({ group: { code, status, words, remedy, recipients } }: { group: Group }) {
  return (
    <li>
      <div className="row">
        <Status status={status} label={`${recipients.length} ${status}`} />
        <strong>{words}</strong>
        <code className="spread muted">{code}</code>
      </div>
      <p>{remedy}</p>
      <p className="reason-people">
        {recipients.slice(0, NAMED).map(({ id, contact, contactId, address }) =>
          contact ? (
            <Link key={id} href={`/contacts/${contactId}`}>
              {contact.name}
            </Link>
          ) : (
            <span key={id}>{address ?? 'deleted contact'}</span>
          ),
        )}
        {recipients.length > NAMED && <span className="muted">and {recipients.length - NAMED} more</span>}
      </p>
    </li>
  )
}
