import { isDeepStrictEqual } from 'node:util'
import type { UpsertedWorkflow } from '../features/drafts/schema.ts'
import type { DefinitionOutcomes } from '../features/workflow-tests/schema.ts'
import type { Workflow, WorkflowWithDefinition } from '../features/workflows/schema.ts'
import type { ParleyApi } from './api.ts'
import {
  escapeControls,
  type FileTest,
  ProblemError,
  readWorkflowFiles,
  sortFields,
  toTest,
  type WorkflowFile,
  writeWorkflowFile,
} from './workflow-files.ts'

type Options = { folder: string; publish: boolean }
type StoredTest = { id: string; test: FileTest }

/**
 * Writes the workflows that have a key, and returns true. A second call writes nothing.
 * @throws ProblemError for keys that no file can have, once the others are written
 */
export async function pullWorkflows(api: ParleyApi, { folder }: Options): Promise<boolean> {
  const { items } = await api.call<{ items: Workflow[] }>('GET', '/workflows')
  const problems: string[] = []
  for (const { id, key, status } of items) {
    if (key === null || status === 'archived') continue
    const { name, description, definition } = await api.call<WorkflowWithDefinition>('GET', `/workflows/${id}`)
    const tests = (await listTests(api, id)).map(({ test }) => test)
    try {
      const written = writeWorkflowFile(folder, { key, name, description, definition, tests })
      print(written.length > 0 ? written.map((path) => `${path}: written`) : [`${key}: unchanged`])
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      problems.push(error.message)
    }
  }
  if (problems.length > 0) throw new ProblemError(`${problems.join('\n')}\nThe other workflows were written.`)
  return true
}

/** Runs the tests of the files without storing anything, and returns true if all pass. */
export async function testWorkflows(api: ParleyApi, { folder }: Options): Promise<boolean> {
  let isPassed = true
  for (const file of await readWorkflowFiles(folder)) {
    const { passed, failures } = await tryFile(api, file)
    print(failures.length > 0 ? failures : [`${file.path}: ${passed} tests passed`])
    isPassed &&= failures.length === 0
  }
  return isPassed
}

/**
 * Stores the files, once none of them has problems and all tests pass, and returns true.
 * @throws ProblemError with the problems and failed tests of all files
 */
export async function pushWorkflows(api: ParleyApi, { folder, publish }: Options): Promise<boolean> {
  const files = await readWorkflowFiles(folder)
  const failures: string[] = []
  for (const file of files) failures.push(...(await tryFile(api, file)).failures)
  if (failures.length > 0) throw new ProblemError([...failures, 'Nothing was changed.'].join('\n'))
  for (const { path, key, name, description, definition, tests } of files) {
    const put = (isPublished: boolean) =>
      api.call<UpsertedWorkflow>('PUT', `/workflows/by-key/${key}`, {
        name,
        description,
        definition,
        publish: isPublished,
      })
    const draft = await put(false)
    const changedTests = tests ? await replaceTests(api, draft.id, tests) : 0
    const changes = [draft.result, ...(changedTests > 0 ? [`${changedTests} tests changed`] : [])]
    const published = publish ? await put(true) : undefined
    if (published) changes.push(published.published ? `published as version ${published.version}` : 'published before')
    print([`${path}: ${changes.join(', ')}`])
  }
  return true
}

/** Prints what push would change, and returns true if it is nothing. */
export async function diffWorkflows(api: ParleyApi, { folder }: Options): Promise<boolean> {
  const files = await readWorkflowFiles(folder)
  let isSame = true
  for (const file of files) {
    const lines = await listDifferences(api, file)
    if (lines.length === 0) continue
    isSame = false
    print([`${file.path}:`, ...lines.map((line) => `  ${line}`)])
  }
  return isSame
}

/** Checks the definition of a file and runs its tests on it, or those of the workspace if it has none of its own. */
async function tryFile(api: ParleyApi, file: WorkflowFile): Promise<{ passed: number; failures: string[] }> {
  const { path, key, definition } = file
  const workflowId = await findId(api, key)
  const failures: string[] = []
  let passed = 0
  for (const tests of splitTests(await findUnstored(api, file, workflowId))) {
    const body = { definition, workflowId, tests }
    const outcomes = await api
      .call<DefinitionOutcomes>('POST', '/workflows/tests/run', body)
      .catch((error: unknown) => {
        throw error instanceof ProblemError ? new ProblemError(`${path}: ${error.message}`) : error
      })
    if (outcomes.problems.length > 0) {
      const lines = outcomes.problems.map((problem) => `${problem.path || 'definition'}: ${problem.message}`)
      return { passed: 0, failures: lines.map((line) => `${path}: ${line}`) }
    }
    passed += outcomes.passed
    failures.push(...outcomes.items.flatMap(listFailures).map((line) => `${path}: ${line}`))
  }
  return { passed, failures }
}

function listFailures({ name, status, differences }: DefinitionOutcomes['items'][number]): string[] {
  if (status === 'not_run') return [`test "${name}": not run, as the tests take too long or the server is busy`]
  return differences.map((difference) => `test "${name}": ${difference}`)
}

/** Returns the tests of a file, or undefined if those of the workspace are equal: they also have the state of the saved run. */
async function findUnstored(
  api: ParleyApi,
  { tests }: WorkflowFile,
  workflowId: string | undefined,
): Promise<FileTest[] | undefined> {
  if (workflowId === undefined || tests === null) return tests ?? undefined
  const { obsolete, added } = compareTests(tests, await listTests(api, workflowId))
  return obsolete.length + added.length > 0 ? tests : undefined
}

/** Size of the tests of one call, which leaves the rest of its 1 MB to the definition. */
const TESTS_BYTES_MAX = 384 * 1024

/** Splits tests into lists for one call each; there is at least one. */
function splitTests(tests: FileTest[] | undefined): (FileTest[] | undefined)[] {
  if (!tests) return [undefined]
  const lists: FileTest[][] = [[]]
  let bytes = 0
  for (const test of tests) {
    const size = Buffer.byteLength(JSON.stringify(test))
    if (bytes > 0 && bytes + size > TESTS_BYTES_MAX) {
      lists.push([])
      bytes = 0
    }
    lists.at(-1)?.push(test)
    bytes += size
  }
  return lists
}

async function findId(api: ParleyApi, key: string): Promise<string | undefined> {
  const { items } = await api.call<{ items: Workflow[] }>('GET', `/workflows?key=${key}`)
  return items[0]?.id
}

async function listTests(api: ParleyApi, workflowId: string): Promise<StoredTest[]> {
  const { items } = await api.call<{ items: (FileTest & { id: string })[] }>('GET', `/workflows/${workflowId}/tests`)
  return items.map((stored) => ({ id: stored.id, test: toTest(stored) }))
}

/** Makes the tests of a workflow those of its file, and returns the number of those that differed. */
async function replaceTests(api: ParleyApi, workflowId: string, tests: FileTest[]): Promise<number> {
  const { obsolete, added } = compareTests(tests, await listTests(api, workflowId))
  for (const { id } of obsolete) await api.call('DELETE', `/workflows/${workflowId}/tests/${id}`)
  for (const test of added) await api.call('POST', `/workflows/${workflowId}/tests`, test)
  return new Set([...obsolete.map(({ test }) => test.name), ...added.map(({ name }) => name)]).size
}

function compareTests(tests: FileTest[], stored: StoredTest[]): { obsolete: StoredTest[]; added: FileTest[] } {
  return {
    obsolete: stored.filter(({ test }) => !tests.some((one) => isSameTest(one, test))),
    added: tests.filter((test) => !stored.some((one) => isSameTest(test, one.test))),
  }
}

/** A test of a file without a time may have begun at any. */
function isSameTest(test: FileTest, stored: FileTest): boolean {
  const { startsAt = stored['startsAt'] } = test
  return isDeepStrictEqual({ ...test, startsAt: toTime(startsAt) }, { ...stored, startsAt: toTime(stored['startsAt']) })
}

function toTime(time: unknown): number {
  return Date.parse(String(time))
}

async function listDifferences(api: ParleyApi, file: WorkflowFile): Promise<string[]> {
  const id = await findId(api, file.key)
  if (id === undefined) return ['+ new workflow']
  const stored = await api.call<WorkflowWithDefinition>('GET', `/workflows/${id}`)
  const { name, description, definition } = file
  const tests = file.tests ? compareTests(file.tests, await listTests(api, id)) : { obsolete: [], added: [] }
  return [
    ...compare({ name: stored.name, description: stored.description }, { name, description }, ''),
    ...compare(sortFields(stored.definition), sortFields(definition), ''),
    ...tests.obsolete.map(({ test }) => `- test "${test.name}"`),
    ...tests.added.map((test) => `+ test "${test.name}"`),
  ]
}

const VALUE_LENGTH_MAX = 200

/** Lists the values that differ, with their paths. */
function compare(stored: unknown, local: unknown, path: string): string[] {
  if (isDeepStrictEqual(stored, local)) return []
  if (isContainer(stored) && isContainer(local) && Array.isArray(stored) === Array.isArray(local)) {
    const names = [...new Set([...Object.keys(stored), ...Object.keys(local)])]
    return names.flatMap((name) => compare(stored[name], local[name], path === '' ? name : `${path}.${name}`))
  }
  const show = (sign: string, value: unknown) =>
    value === undefined ? [] : [`${sign} ${path}: ${JSON.stringify(value).slice(0, VALUE_LENGTH_MAX)}`]
  return [...show('-', stored), ...show('+', local)]
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function print(lines: string[]): void {
  process.stdout.write(lines.map((line) => `${escapeControls(line)}\n`).join(''))
}
