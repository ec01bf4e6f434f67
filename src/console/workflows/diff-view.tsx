import type { RouterOutputs } from '@parley/client'
import { describeTrigger, toTitle } from '../graph/describe-step.ts'
import { isObject, toText } from '../kit/narrow.ts'

type Diff = RouterOutputs['workflows']['diff']
type FieldChange = Diff['settings'][number]

/** The differences between two versions in words, with the values of fields that changed. */
export function DiffView({ diff }: { diff: Diff }) {
  const { steps, triggers, settings, variables } = diff
  const isEmpty =
    [steps.added, steps.removed, steps.changed, triggers.added, triggers.removed, settings, variables].every(
      (list) => list.length === 0,
    ) && !steps.reordered
  if (isEmpty)
    return <p className="muted">{diff.hasChanges ? 'Only details differ.' : 'Nothing differs: both do the same.'}</p>
  return (
    <ul className="diff">
      {triggers.added.map((trigger, index) => (
        <Change key={`trigger + ${index}`} sign="added" what="Trigger" name={nameTrigger(trigger)} />
      ))}
      {triggers.removed.map((trigger, index) => (
        <Change key={`trigger - ${index}`} sign="removed" what="Trigger" name={nameTrigger(trigger)} />
      ))}
      {steps.added.map(({ id, type }) => (
        <Change key={`+ ${id}`} sign="added" what={toTitle(type ?? 'step')} name={id} />
      ))}
      {steps.removed.map(({ id, type }) => (
        <Change key={`- ${id}`} sign="removed" what={toTitle(type ?? 'step')} name={id} />
      ))}
      {steps.changed.map(({ id, fields }) => (
        <Change key={`* ${id}`} sign="changed" what="Step" name={id} fields={fields} />
      ))}
      {steps.reordered && <Change sign="changed" what="Steps" name="have another order" />}
      {settings.length > 0 && <Change sign="changed" what="Settings" name="" fields={settings} />}
      {variables.length > 0 && <Change sign="changed" what="Variables" name="" fields={variables} />}
    </ul>
  )
}

function nameTrigger(trigger: Record<string, unknown>): string {
  return [toTitle(toText(trigger['type']) ?? 'unknown'), describeTrigger(trigger)].filter(Boolean).join(': ')
}

const TONES = { added: 'tone-good', removed: 'tone-bad', changed: 'tone-warn' } as const

type ChangeProps = { sign: keyof typeof TONES; what: string; name: string; fields?: readonly FieldChange[] }

function Change({ sign, what, name, fields = [] }: ChangeProps) {
  return (
    <li>
      <div className="row">
        <span className={`status ${TONES[sign]}`}>{sign}</span> <span className="muted">{what}</span>{' '}
        <strong>{name}</strong>
      </div>
      {fields.length > 0 && (
        <dl className="diff-fields">
          {fields
            .flatMap((field) => narrowChange(field))
            .map(({ field, from, to }) => (
              <div key={field}>
                <dt>
                  <code>{field}</code>
                </dt>
                <dd>
                  <del>{show(from)}</del>
                  <ins>{show(to)}</ins>
                </dd>
              </div>
            ))}
        </dl>
      )}
    </li>
  )
}

const DEPTH_MAX = 8

/** Splits a change of an object or list into those of its parts, so that only what differs is shown. */
function narrowChange({ field, from, to }: FieldChange, depth = 0): FieldChange[] {
  const isList = Array.isArray(from) && Array.isArray(to) && from.length === to.length
  if (depth > DEPTH_MAX || !(isList || (isObject(from) && isObject(to)))) return [{ field, from, to }]
  const [before, after] = [from, to].map((value) => new Map(Object.entries(value ?? {})))
  const names = new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])
  return [...names].flatMap((name) => {
    const change = { field: `${field}.${name}`, from: before?.get(name), to: after?.get(name) }
    return JSON.stringify(change.from) === JSON.stringify(change.to) ? [] : narrowChange(change, depth + 1)
  })
}

const LENGTH_MAX = 2_000

/** A value, or the word `absent`, by which the server's null is meant. */
function show(value: unknown): string {
  if (value === null || value === undefined) return 'absent'
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text
}
