import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Loaded } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { Time } from '../kit/time.tsx'

const SHOWN = 10

/** The last runs of a contact. */
export function ContactRuns({ contactId }: { contactId: string }) {
  const parley = useParley()
  const runs = useQuery(parley.runs.list.queryOptions({ contactId, limit: SHOWN }))
  return (
    <section className="card" aria-label="Runs">
      <div className="card-head">
        <h2>Runs</h2>
        {runs.data && runs.data.total > SHOWN && (
          <Link className="spread" href={`/runs?contactId=${contactId}`}>
            All {runs.data.total}
          </Link>
        )}
      </div>
      <Loaded query={runs} height={96}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="card-body muted">No workflow has run for this contact.</p>
          ) : (
            <ul className="contact-runs">
              {items.map(({ id, workflowName, status, createdAt }) => (
                <li key={id} className="row">
                  <Link href={`/runs/${id}`}>{workflowName}</Link>
                  <Status status={status} />
                  <small className="muted spread">
                    <Time at={createdAt} />
                  </small>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  )
}
