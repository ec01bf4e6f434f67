import { isDeepStrictEqual } from 'node:util'
import type { UpsertedWorkflow } from '../features/drafts/schema.ts'
import type { Validation } from '../features/publishing/schema.ts'
import type { TestOutcomes } from '../features/workflow-tests/schema.ts'
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
type StoredTest = FileTest & { id: string }

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

/** Stores the files as drafts, once none of them has problems. Returns false if a test fails. */
export async function pushWorkflows(api: ParleyApi, { folder, publish }: Options): Promise<boolean> {
  const files = await readWorkflowFiles(folder)
  await assertValid(api, files)
  let isPassed = true
  for (const file of files) {
    const { path, key, name, description, definition, tests } = file
    const put = (isPublished: boolean) =>
      api.call<UpsertedWorkflow>('PUT', `/workflows/by-key/${key}`, {
        name,
        description,
        definition,
        publish: isPublished,
      })
    const draft = await put(false)
    const changedTests = tests ? await replaceTests(api, draft.id, tests) : 0
    const failures = await runTests(api, draft.id)
    const changes = [draft.result, ...(changedTests > 0 ? [`${changedTests} tests changed`] : [])]
    if (failures.length > 0) {
      isPassed = false
      print([`${path}: ${changes.join(', ')}, tests failed, not published`, ...failures.map((line) => `  ${line}`)])
      continue
    }
    const published = publish ? await put(true) : undefined
    if (published) changes.push(published.published ? `published as version ${published.version}` : 'published before')
    print([`${path}: ${changes.join(', ')}`])
  }
  return isPassed
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

/** @throws ProblemError with the problems of all files */
async function assertValid(api: ParleyApi, files: WorkflowFile[]): Promise<void> {
  const lines: string[] = []
  for (const { path, key, definition } of files) {
    const id = await findId(api, key)
    const workflow = id === undefined ? {} : { workflowId: id }
    const { errors } = await api.call<Validation>('POST', '/workflows/validate', { definition, ...workflow })
    lines.push(...errors.map((error) => `${path}: ${error.path || 'definition'}: ${error.message}`))
  }
  if (lines.length > 0) throw new ProblemError(`${lines.join('\n')}\nNothing was changed.`)
}

async function findId(api: ParleyApi, key: string): Promise<string | undefined> {
  const { items } = await api.call<{ items: Workflow[] }>('GET', `/workflows?key=${key}`)
  return items[0]?.id
}

async function listTests(api: ParleyApi, workflowId: string): Promise<{ id: string; test: FileTest }[]> {
  const { items } = await api.call<{ items: StoredTest[] }>('GET', `/workflows/${workflowId}/tests`)
  return items.map((stored) => ({ id: stored.id, test: toTest(stored) }))
}

/** Makes the tests of a workflow those of its file, and returns the number of those that differed. */
async function replaceTests(api: ParleyApi, workflowId: string, tests: FileTest[]): Promise<number> {
  const stored = await listTests(api, workflowId)
  const obsolete = stored.filter(({ test }) => !tests.some((one) => isSameTest(one, test)))
  const added = tests.filter((test) => !stored.some((one) => isSameTest(test, one.test)))
  for (const { id } of obsolete) await api.call('DELETE', `/workflows/${workflowId}/tests/${id}`)
  for (const test of added) await api.call('POST', `/workflows/${workflowId}/tests`, test)
  return new Set([...obsolete.map(({ test }) => test.name), ...added.map(({ name }) => name)]).size
}

/** A test of a file without a time may have begun at any. */
function isSameTest(test: FileTest, stored: FileTest): boolean {
  const { startsAt = stored['startsAt'] } = test
  return isDeepStrictEqual({ ...test, startsAt: toTime(startsAt) }, { ...stored, startsAt: toTime(stored['startsAt']) })
}

function toTime(time: unknown): number {
  return Date.parse(String(time))
}

async function runTests(api: ParleyApi, workflowId: string): Promise<string[]> {
  const { items } = await api.call<TestOutcomes>('POST', `/workflows/${workflowId}/tests/run`, {})
  return items
    .filter(({ status }) => status !== 'passed')
    .map(({ name, status, differences: [first = status] }) => `test "${name}": ${first}`)
}

async function listDifferences(api: ParleyApi, file: WorkflowFile): Promise<string[]> {
  const id = await findId(api, file.key)
  if (id === undefined) return ['+ new workflow']
  const stored = await api.call<WorkflowWithDefinition>('GET', `/workflows/${id}`)
  const { name, description, definition } = file
  const tests = (await listTests(api, id)).map(({ test }) => test)
  const missing = (file.tests ?? tests).filter((test) => !tests.some((one) => isSameTest(test, one)))
  const obsolete = tests.filter((test) => file.tests && !file.tests.some((one) => isSameTest(one, test)))
  return [
    ...compare({ name: stored.name, description: stored.description }, { name, description }, ''),
    ...compare(sortFields(stored.definition), sortFields(definition), ''),
    ...obsolete.map((test) => `- test "${test.name}"`),
    ...missing.map((test) => `+ test "${test.name}"`),
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
