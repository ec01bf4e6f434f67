import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../kit/button.tsx'
import { Loaded } from '../kit/states.tsx'
import { Time } from '../kit/time.tsx'
import { describeMarketing, describeSource } from './contact-words.tsx'

const SHOWN = 4
const SHOWN_MAX = 100

type Entry = RouterOutputs['contacts']['getConsent']['items'][number]

/** The consent for each purpose, with the entries of the ledger. */
export function ConsentHistory({ contactId }: { contactId: string }) {
  const parley = useParley()
  const [limit, setLimit] = useState(SHOWN)
  const consent = useQuery(
    parley.contacts.getConsent.queryOptions({ contactId, limit }, { placeholderData: (previous) => previous }),
  )
  return (
    <section className="card" aria-label="Consent">
      <div className="card-head">
        <h2>Consent</h2>
      </div>
      <Loaded query={consent} height={96}>
        {({ marketing, service, items, total }) => (
          <div className="card-body stack">
            <dl className="facts">
              <dt>Marketing</dt>
              <dd>{describeMarketing(marketing)}</dd>
              <dt>Service</dt>
              <dd>{describeMarketing(service)}</dd>
            </dl>
            {items.length > 0 && (
              <ol className="ledger" aria-label="History of the consent">
                {items.map((entry) => (
                  <LedgerEntry key={entry.id} entry={entry} />
                ))}
              </ol>
            )}
            {total > items.length && limit < SHOWN_MAX && (
              <div>
                <Button small onClick={() => setLimit(SHOWN_MAX)}>
                  Earlier entries
                </Button>
              </div>
            )}
          </div>
        )}
      </Loaded>
    </section>
  )
}

function LedgerEntry({ entry }: { entry: Entry }) {
  const evidence = entry.text ?? entry.keyword
  return (
    <li>
      <span>
        {entry.purpose === 'marketing' ? 'Marketing' : 'Service'}:{' '}
        {entry.state === 'opted_in' ? 'opted in' : 'opted out'} {describeSource(entry.source)}
        {entry.actor.name && ` (${entry.actor.name})`}
      </span>
      {evidence && <q>{evidence}</q>}
      <small className="muted">
        <Time at={entry.at} />
      </small>
    </li>
  )
}
