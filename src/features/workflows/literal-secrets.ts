import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { isLiteral, listLiteralParameters, listLiteralSecrets } from '../../platform/security/literal-secret.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'
import { type DefinitionPart, findValues, listSteps, toRootPart } from './stored-definition.ts'

const PROBLEMS_MAX = 100
const ADVICE = 'Store the secret with POST /api/credentials and set credentialId, or use a tool with a credential'

/**
 * Refuses to store a definition with secrets, as every member can read it. Takes time in proportion to its size.
 * @throws UnprocessableError `literal_secret`
 */
export function assertNoLiteralSecrets(definition: unknown): void {
  const problems = findLiteralSecrets(definition)
  const [first] = problems
  if (!first) return
  throw new UnprocessableError('literal_secret', first.message, problems.slice(0, PROBLEMS_MAX))
}

/**
 * Finds secrets that are written into the requests of a definition, where every member reads them: literal values of
 * headers and parameters with the name of a secret, and variables with a default there. Values that are placeholders
 * throughout, except for the authentication scheme, are only known when the step is executed, and are allowed.
 */
export function findLiteralSecrets(definition: unknown): Problem[] {
  const defaults = listLiteralDefaults(definition)
  return listSteps(definition).flatMap((step) => {
    const { type, tool } = step.fields
    if (type === 'http') return checkRequest(step, '', defaults)
    return type === 'tool' && tool === 'http.request' ? checkRequest(step, 'input.', defaults) : []
  })
}

function checkRequest(step: DefinitionPart, parent: string, defaults: ReadonlySet<string>): Problem[] {
  const sections = ['headers', 'query'].flatMap((section) =>
    findValues(step, `${parent}${section}`).flatMap(({ path, value }) =>
      listSecrets(toRootPart(value).fields, defaults).map((name) => `${path}.${name}`),
    ),
  )
  const urls = findValues(step, `${parent}url`).flatMap(({ path, value }) =>
    typeof value === 'string' && listLiteralParameters(value).length > 0 ? [path] : [],
  )
  return [...sections, ...urls].map((path) =>
    problemAt(step.location, path, 'literal_secret', `contains a secret that every member can read. ${ADVICE}`),
  )
}

function listSecrets(fields: Readonly<Record<string, unknown>>, defaults: ReadonlySet<string>): string[] {
  const secrets = listLiteralSecrets(fields)
  if (defaults.size === 0) return secrets
  const referring = Object.keys(fields).filter((name) => isSensitiveName(name) && usesAny(fields[name], defaults))
  return [...new Set([...secrets, ...referring])]
}

/** Lists the variables whose default is a literal text. */
function listLiteralDefaults(definition: unknown): ReadonlySet<string> {
  const names = findValues(toRootPart(definition), 'variables').flatMap(({ value }) => {
    const variables = Object.entries(toRootPart(value).fields)
    return variables.flatMap(([name, variable]) => {
      const text = toRootPart(variable).fields['default']
      return typeof text === 'string' && isLiteral(text) ? [name] : []
    })
  })
  return new Set(names)
}

function usesAny(value: unknown, variables: ReadonlySet<string>): boolean {
  if (typeof value !== 'string') return false
  return [...value.matchAll(/\bvars\.(\w+)/g)].some(([, name = '']) => variables.has(name))
}
