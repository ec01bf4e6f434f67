import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { formatDialogue } from '../features/simulations/dialogue.ts'
import { NewWorkflowTest, TESTS_MAX } from '../features/workflow-tests/schema.ts'
import { WORKFLOW_KEY } from '../features/workflows/schema.ts'
import { getField } from '../platform/fields.ts'
import { compareNames, sortKeys } from '../platform/sort-keys.ts'
import { describeUnknownField } from '../platform/unknown-field.ts'

/** A mistake that the caller can correct. Its message is all that is printed. */
export class ProblemError extends Error {
  override name = 'ProblemError'
}

/** Escapes the control characters of a text, apart from the ends of lines, as a terminal would obey them. */
export function escapeControls(text: string): string {
  return text.replaceAll(/(?!\n)\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

const FILE = /^(?<key>[^/]+?)(?<extension>\.json|\.js|\.mjs|\.ts|\.mts)$/
const FILES_MAX = 1000
const FILE_BYTES_MAX = 2 * 1024 ** 2
const TESTS = '.tests'

const Content = z.strictObject({
  name: z.string().optional(),
  description: z.string().nullish(),
  definition: z.record(z.string(), z.unknown()),
})
const Tests = z
  .array(NewWorkflowTest)
  .max(TESTS_MAX)
  .refine((tests) => new Set(tests.map(({ name }) => name)).size === tests.length, 'has two tests with the same name')

/** A test as files have it: without what is left at its default. */
export type FileTest = { name: string } & Record<string, unknown>

export type WorkflowFile = {
  path: string
  key: string
  name: string
  description: string | null
  definition: Record<string, unknown>
  /** Null without a file of tests, which leaves those of the workspace as they are. */
  tests: FileTest[] | null
}

/** @throws ProblemError that lists the problems of all files */
export async function readWorkflowFiles(folder: string): Promise<WorkflowFile[]> {
  const names = listNames(folder)
  const files: WorkflowFile[] = []
  const problems: string[] = []
  for (const name of names) {
    const { key = '', extension = '' } = FILE.exec(name)?.groups ?? {}
    if (key === '' || key.endsWith(TESTS) || name.endsWith('.d.ts')) continue
    try {
      if (!WORKFLOW_KEY.test(key)) throw new ProblemError('the name of the file is no key of a workflow')
      if (files.some((file) => file.key === key)) throw new ProblemError('another file has this key')
      const path = join(folder, name)
      const content = extension === '.json' ? readJson(path) : await importDefault(path)
      files.push({ path, key, ...toWorkflow(content, key), tests: readTests(folder, names, key) })
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      problems.push(`${join(folder, name)}: ${error.message}`)
    }
  }
  if (problems.length > 0) throw new ProblemError(problems.join('\n'))
  return files
}

function listNames(folder: string): string[] {
  try {
    const names = readdirSync(folder).sort()
    if (names.length > FILES_MAX) throw new ProblemError(`${folder} has more than ${FILES_MAX} files`)
    return names
  } catch (error) {
    if (error instanceof ProblemError) throw error
    throw new ProblemError(`${folder} cannot be read: ${String(getField(error, 'code'))}`)
  }
}

function readJson(path: string): unknown {
  if (statSync(path).size > FILE_BYTES_MAX) throw new ProblemError('the file has more than 2 MB')
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ProblemError(`is not JSON: ${getField(error, 'message')}`)
  }
}

/** Imports a program of the caller, which exports a workflow or a definition. */
async function importDefault(path: string): Promise<unknown> {
  try {
    const { tsImport } = await import('tsx/esm/api')
    const module: unknown = await tsImport(pathToFileURL(resolve(path)).href, import.meta.url)
    const exported = getField(module, 'default')
    // A module in a folder of CommonJS has its exports in the default one.
    return JSON.parse(JSON.stringify(getField(exported, 'default') ?? exported ?? null))
  } catch (error) {
    throw new ProblemError(`cannot be imported: ${getField(error, 'message')}`)
  }
}

function toWorkflow(content: unknown, key: string): Pick<WorkflowFile, 'name' | 'description' | 'definition'> {
  const isDefinition = getField(content, 'steps') !== undefined
  const {
    name = key,
    description = null,
    definition,
  } = parse(Content, isDefinition ? { definition: content } : content)
  return { name, description, definition }
}

function readTests(folder: string, names: string[], key: string): FileTest[] | null {
  const name = `${key}${TESTS}.json`
  if (!names.includes(name)) return null
  try {
    return parse(Tests, readJson(join(folder, name))).map(toFileTest)
  } catch (error) {
    if (error instanceof ProblemError) throw new ProblemError(`its tests in ${name}: ${error.message}`)
    throw error
  }
}

/** Converts a stored test to one of a file. */
export function toTest(stored: Record<string, unknown>): FileTest {
  const { name, dialogue, trigger, input, contact, stepOutputs, startsAt, expectation } = stored
  const given = { trigger: trigger ?? undefined, input: input ?? undefined }
  return toFileTest(parse(NewWorkflowTest, { name, dialogue, ...given, contact, stepOutputs, startsAt, expectation }))
}

function toFileTest({ name, dialogue, contact, stepOutputs, ...test }: NewWorkflowTest): FileTest {
  const { trigger, input, startsAt, expectation } = test
  const fields = {
    name,
    dialogue: formatDialogue(dialogue),
    trigger,
    input,
    contact: isEmpty(contact) ? undefined : contact,
    stepOutputs: isEmpty(stepOutputs) ? undefined : stepOutputs,
    startsAt,
    expectation,
  }
  return { name, ...(JSON.parse(JSON.stringify(fields)) as object) }
}

function isEmpty(value: object | null | undefined): boolean {
  return value !== null && Object.keys(value ?? {}).length === 0
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value)
  if (data !== undefined) return data
  throw new ProblemError((error?.issues ?? []).flatMap(describeIssue).join('; '))
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const { path, message } = issue
  if (issue.code !== 'unrecognized_keys') return [`${path.join('.') || 'it'}: ${message}`]
  return issue.keys.map((key) => `${[...path, key].join('.')} ${describeUnknownField(key, message, 'such a file')}`)
}

/**
 * Writes a workflow and its tests, and returns the paths of the files that have another content now.
 * @throws ProblemError for a key that no file can have
 */
export function writeWorkflowFile(folder: string, workflow: Omit<WorkflowFile, 'path'>): string[] {
  const { key, name, description, definition, tests } = workflow
  if (!WORKFLOW_KEY.test(key) || key.endsWith(TESTS))
    throw new ProblemError(`${JSON.stringify(key)} is no name of a file`)
  mkdirSync(folder, { recursive: true })
  const content = { name, ...(description === null ? {} : { description }), definition: sortFields(definition) }
  const files: [path: string, content: unknown][] = [[join(folder, `${key}.json`), content]]
  const testsPath = join(folder, `${key}${TESTS}.json`)
  // A file of tests that are deleted would bring them back with the next push.
  if (tests && (tests.length > 0 || readText(testsPath) !== undefined)) files.push([testsPath, tests.map(sortFields)])
  return files.flatMap(([path, value]) => {
    const text = `${JSON.stringify(value, null, 2)}\n`
    if (readText(path) === text) return []
    writeFileSync(path, text)
    return [path]
  })
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Fields that come first, in this order; the database does not keep the order of fields. */
const FIRST = ['name', 'version', 'id', 'type', 'triggers', 'settings', 'variables']

/** Sorts the fields of objects at any depth, so that equal values have equal texts. */
export function sortFields<T>(value: T): T {
  return sortKeys(value, (a, b) => rank(a) - rank(b) || compareNames(a, b))
}

function rank(name: string): number {
  return FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length
}
