import type { RouterInputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { Button } from '../kit/button.tsx'
import { useUrlState } from '../kit/url-state.ts'

type Filters = Omit<NonNullable<RouterInputs['runs']['list']>, 'limit' | 'offset' | 'cursor' | 'sort'>

/** The value of the status that means all ends in which a run did not do its work. */
export const FAILURES = 'failed,expired'

const STATUSES = [
  [FAILURES, 'failed or expired'],
  ...['queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired'].map((one) => [one, one] as const),
] as const
const WAITS = [
  ['reply', 'a reply'],
  ['timer', 'a time'],
  ['event', 'an event'],
  ['result', 'a result'],
] as const
const NAMES = ['status', 'workflow', 'contactId', 'waitingFor', 'from', 'to']
const CONTACTS_MAX = 100

/** Returns the filters that the address names, as the API has them. */
export function useRunFilters(): { filters: Filters; isFiltered: boolean; clear: () => void } {
  const [search, setSearch] = useSearchParams()
  const [status, workflowId, contactId, waiting, from, to] = NAMES.map((name) => search.get(name) ?? '')
  const waitingFor = WAITS.find(([value]) => value === waiting)?.[0]
  const after = toDay(from)
  const before = toDay(to, 1)
  const filters: Filters = {
    ...(status ? { status } : {}),
    ...(workflowId ? { workflowId } : {}),
    ...(contactId ? { contactId } : {}),
    ...(waitingFor ? { waitingFor } : {}),
    ...(after ? { createdAfter: after } : {}),
    ...(before ? { createdBefore: before } : {}),
  }
  const clear = () =>
    setSearch((current) => new URLSearchParams([...current].filter(([name]) => !NAMES.includes(name))), {
      replace: true,
    })
  return { filters, isFiltered: Object.keys(filters).length > 0, clear }
}

/** Returns the beginning of a day of this time zone, some days later. */
function toDay(text = '', days = 0): string | undefined {
  const date = new Date(`${text}T00:00`)
  if (Number.isNaN(date.getTime())) return undefined
  date.setDate(date.getDate() + days)
  return date.toISOString()
}

/** Returns the names of the newest contacts by ID, as runs have only the IDs. */
export function useContactNames(): ReadonlyMap<string, string> {
  const parley = useParley()
  const { data } = useQuery(parley.contacts.list.queryOptions({ limit: CONTACTS_MAX }))
  return new Map(data?.items.map(({ id, name }) => [id, name]))
}

export function RunFilters({ contacts }: { contacts: ReadonlyMap<string, string> }) {
  const parley = useParley()
  const { data: workflows } = useQuery(parley.workflows.list.queryOptions({}))
  const [status, setStatus] = useUrlState('status')
  const { isFiltered, clear } = useRunFilters()
  return (
    <div className="run-filters" role="search" aria-label="Filter runs">
      <Choice name="status" label="Status" options={STATUSES} />
      <Choice name="workflow" label="Workflow" options={(workflows?.items ?? []).map(({ id, name }) => [id, name])} />
      <Choice name="contactId" label="Contact" options={[...contacts].toSorted(([, a], [, b]) => a.localeCompare(b))} />
      <Choice name="waitingFor" label="Waits for" options={WAITS} />
      <Day name="from" label="Created from" />
      <Day name="to" label="Created to" />
      <Button
        aria-pressed={status === FAILURES}
        aria-keyshortcuts="f"
        onClick={() => setStatus(status === FAILURES ? '' : FAILURES)}
      >
        Failures only <kbd>f</kbd>
      </Button>
      {isFiltered && (
        <Button kind="quiet" onClick={clear}>
          Clear filters
        </Button>
      )}
    </div>
  )
}

type ChoiceProps = { name: string; label: string; options: readonly (readonly [value: string, title: string])[] }

/** A filter, whose value in the address may also be none of the options. */
function Choice({ name, label, options }: ChoiceProps) {
  const [value, setValue] = useUrlState(name)
  const isOther = value !== '' && options.every(([known]) => known !== value)
  return (
    <label className="field">
      <small>{label}</small>
      <select value={value} onChange={(event) => setValue(event.target.value)}>
        <option value="">any</option>
        {isOther && <option value={value}>…{value.slice(-8)}</option>}
        {options.map(([known, title]) => (
          <option key={known} value={known}>
            {title}
          </option>
        ))}
      </select>
    </label>
  )
}

function Day({ name, label }: { name: string; label: string }) {
  const [value, setValue] = useUrlState(name)
  return (
    <label className="field">
      <small>{label}</small>
      <input type="date" value={value} onChange={(event) => setValue(event.target.value)} />
    </label>
  )
}
