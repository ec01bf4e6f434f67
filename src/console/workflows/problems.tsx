import { isParleyError, type RouterOutputs } from '@parley/client'
import { isObject, toText } from '../kit/narrow.ts'
import { Problem } from '../kit/states.tsx'

export type DefinitionProblem = RouterOutputs['workflows']['validate']['errors'][number]

/** Returns the problems of a definition that an error lists; none if it is another error. */
export function readProblems(error: unknown): DefinitionProblem[] {
  const data: unknown = isParleyError(error) ? error.data : undefined
  const details: unknown = isObject(data) ? data['details'] : undefined
  if (!isObject(data) || data['code'] === undefined || !Array.isArray(details)) return []
  return details.filter(isObject).flatMap((detail) => {
    const message = toText(detail['message'])
    if (message === undefined || !('stepId' in detail)) return []
    const [stepId, code, path] = [detail['stepId'], detail['code'], detail['path']].map(toText)
    return [{ stepId: stepId ?? null, code: code ?? '', path: path ?? '', message }]
  })
}

/** An error, with the problems of the definition by step if it lists any. */
export function DefinitionError({ error }: { error: unknown }) {
  const problems = readProblems(error)
  if (problems.length === 0) return <Problem error={error} />
  return (
    <div className="problem" role="alert">
      <strong>
        {problems.length === 1 ? 'The definition has a problem' : `The definition has ${problems.length} problems`}
      </strong>
      <ProblemList problems={problems} kind="error" />
    </div>
  )
}

type Props = {
  problems: readonly DefinitionProblem[]
  kind: 'error' | 'warning'
  /** Makes each problem a button. */
  onSelect?: (problem: DefinitionProblem) => void
}

export function ProblemList({ problems, kind, onSelect }: Props) {
  if (problems.length === 0) return null
  return (
    <ul className="problem-list" aria-label={kind === 'error' ? 'Errors' : 'Warnings'}>
      {problems.map((problem) => (
        <li key={`${problem.path} ${problem.code} ${problem.message}`}>
          <span className={kind === 'error' ? 'bad' : 'warn'}>{kind === 'error' ? 'Error' : 'Warning'}</span>
          {onSelect ? (
            <button type="button" className="link" onClick={() => onSelect(problem)}>
              {problem.message}
            </button>
          ) : (
            <span>{problem.message}</span>
          )}
        </li>
      ))}
    </ul>
  )
}
