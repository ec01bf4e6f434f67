import { recordPayload } from '../../engine/redact/record-payload.ts'
import type { RunState } from '../../engine/model/run.ts'
import { collectSecrets } from '../../engine/redact/collect-secrets.ts'

type Shown = Pick<RunState, 'variables' | 'input' | 'output' | 'error'>

/** What the definition calls sensitive is used, and not shown, wherever it has got to. */
export function redactSecrets(
  { variables, sensitive }: RunState,
  { input, output, error }: Omit<Shown, 'variables'>,
): Shown {
  const secrets = collectSecrets({ variables, sensitive })
  const named = Object.entries(variables).map(([name, value]) => [
    name,
    sensitive.includes(name) && value !== null ? '[redacted]' : value,
  ])
  return {
    variables: recordPayload(Object.fromEntries(named), secrets) as RunState['variables'],
    input: recordPayload(input, secrets),
    output: recordPayload(output, secrets),
    error: error && { ...error, message: String(recordPayload(error.message, secrets)) },
  }
}
