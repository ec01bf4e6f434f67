import { recordPayload } from '../../engine/redact/record-payload.ts'
import type { RunState } from '../../engine/model/run.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import { collectSecrets } from '../../engine/redact/collect-secrets.ts'

type PublicFields = Pick<RunState, 'variables' | 'input' | 'output' | 'error'>

/** Redacts the values of sensitive variables wherever they occur in the public fields of a run. */
export function redactSecrets(
  { variables, sensitive }: RunState,
  { input, output, error }: Omit<PublicFields, 'variables'>,
): PublicFields {
  const secrets = collectSecrets({ variables, sensitive })
  const redacted = Object.entries(variables).map(([name, value]) => [
    name,
    sensitive.includes(name) && value !== null ? REDACTED : value,
  ])
  return {
    // The payload of an object is an object, truncated or not.
    variables: recordPayload(Object.fromEntries(redacted), secrets) as RunState['variables'],
    input: recordPayload(input, secrets),
    output: recordPayload(output, secrets),
    error: error && { ...error, message: String(recordPayload(error.message, secrets)) },
  }
}
