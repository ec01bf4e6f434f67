import { findUnknownParams } from '../../../channels/templates/fill-template.ts'
import { listVariables, readTemplate } from '../../../channels/templates/variables.ts'
import type { Template } from '../../../models/messaging.ts'
import { paramsError, PROBLEMS_MAX } from '../../templates/sendable-template.ts'
import type { AudienceInput } from './schema.ts'

type Params = Record<string, string>

/**
 * Asserts that the parameters of a broadcast and of its recipients are variables of the template. Whether none is
 * missing is checked when the broadcast starts.
 * @throws UnprocessableError `template_params_invalid`
 */
export function assertParams(
  { components }: Template,
  params: Params | undefined,
  { recipients = [] }: AudienceInput = {},
): void {
  const template = readTemplate(components)
  if (!template) return
  const variables = listVariables(template)
  const problems: Parameters<typeof paramsError>[0] = []
  const check = (checked: Params = {}, path: string) => {
    for (const problem of findUnknownParams(variables, Object.keys(checked)))
      problems.push({ ...problem, path: `${path}.${problem.name}` })
  }
  check(params, 'params')
  for (const [index, recipient] of recipients.entries()) {
    if (problems.length >= PROBLEMS_MAX) break
    check(recipient.params, `audience.recipients.${index}.params`)
  }
  if (problems.length > 0) throw paramsError(problems)
}
