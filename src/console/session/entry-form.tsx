import { isParleyError } from '@parley/client'
import { type ComponentProps, type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { Problem, toMessage } from '../kit/states.tsx'
import { readNow, useNow } from '../kit/time.tsx'

/** Runs what a form does, and shows why it failed. After too many attempts it counts down to the next one. */
export function useSubmit(action: (fields: Record<string, string>) => Promise<void>) {
  const [problem, setProblem] = useState<{ error: unknown; untilMs: number }>()
  const [isBusy, setBusy] = useState(false)
  const run = async (fields: Record<string, string>) => {
    setBusy(true)
    setProblem(undefined)
    await action(fields).catch((error: unknown) => setProblem({ error, untilMs: readNow() + readRetryMs(error) }))
    setBusy(false)
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const entries = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)])
    void run(Object.fromEntries(entries) as Record<string, string>)
  }
  return { submit, run, isBusy, problem }
}

/** The message of a limit names the seconds until the next attempt. */
function readRetryMs(error: unknown): number {
  if (!isParleyError(error) || error.data?.httpStatus !== 429) return 0
  return Number(/(\d+) s/.exec(error.message)?.[1] ?? 60) * 1000
}

export function FormProblem({ problem }: { problem: { error: unknown; untilMs: number } | undefined }) {
  const seconds = Math.ceil(((problem?.untilMs ?? 0) - useNow()) / 1000)
  if (!problem) return null
  if (seconds > 0) {
    return (
      <p className="note" role="alert">
        Too many attempts. The next one is possible in {seconds} s.
      </p>
    )
  }
  if (isParleyError(problem.error)) return <Problem error={problem.error} />
  return (
    <p className="note" role="alert">
      {toMessage(problem.error)}
    </p>
  )
}

/** A page without a session. */
export function Entry({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Parley`
  }, [title])
  return (
    <main className="entry">
      <div className="brand">
        <img src="/console/icon.svg" alt="" width="24" height="24" /> Parley
        <span className="muted">Messaging automation</span>
      </div>
      <div className="card">
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}

export function Field({ label, ...input }: { label: string } & ComponentProps<'input'>) {
  return (
    <label className="field">
      {label}
      <input required {...input} />
    </label>
  )
}
