import { cut, type Finding, listFirst } from '../language/definition/problems.ts'
import { type Fields, findUnknownField, type UnknownField } from '../language/fields.ts'
import type { RootFields } from '../model/registry.ts'

/** The names that placeholders of a definition can read; null where an invalid part keeps them from being known. */
export type Readable = {
  /** Fields of the outputs, by step ID. */
  steps: ReadonlyMap<string, Fields | null> | null
  variables: ReadonlySet<string> | null
}

/** The names that the placeholders of one text can read. */
export type ReadableHere = Readable & { roots: readonly string[]; fields: RootFields }

export type PathFinding = Pick<Finding, 'code' | 'text' | 'near' | 'note'> & { severity: 'error' | 'warning' }

/** Finds out why a placeholder reads nothing. A part of the path that is computed when it is read is empty. */
export function checkPath(path: string[], known: ReadableHere): PathFinding | undefined {
  const [root = '', ...rest] = path
  if (!known.roots.includes(root)) {
    const isVariable = known.roots.includes('vars') && known.variables?.has(root)
    const advice: Pick<Finding, 'near' | 'note'> = isVariable
      ? { note: `Did you mean vars.${root}?` }
      : { near: { name: root, names: known.roots }, note: () => `A path starts with one of ${known.roots.join(', ')}` }
    return { severity: 'error', code: 'unknown_root', text: `reads "${cut(root)}", which does not exist`, ...advice }
  }
  if (root === 'steps') return checkStep(path, known)
  if (root === 'vars') return checkVariable(path, known)
  const fields = Object.entries(known.fields).find(([name]) => name === root)?.[1] ?? null
  const unknown = findUnknownField(rest, fields)
  if (!unknown) return undefined
  const owner = [root, ...unknown.owner].join('.')
  return {
    ...unknownField(path, `${owner} has no field ${cut(unknown.name)}`, unknown),
    note: () => `Fields of ${owner} here: ${unknown.names.join(', ')}`,
  }
}

function checkStep(path: string[], { steps }: Readable): PathFinding | undefined {
  const [, name = '', part, ...rest] = path
  if (!steps || !name) return undefined
  const fields = steps.get(name)
  if (fields === undefined) {
    const text = `reads "steps.${cut(name)}", but the workflow has no such step`
    return { severity: 'error', code: 'unknown_step', text, near: { name, names: steps.keys() } }
  }
  if (part !== 'output') {
    const text = `reads "steps.${cut(name)}": write steps.${cut(name)}.output`
    return { severity: 'error', code: 'unknown_path', text }
  }
  const unknown = findUnknownField(rest, fields)
  if (!unknown) return undefined
  if (unknown.names.length === 0) return unknownField(path, `the step ${cut(name)} has no output`, unknown)
  const owner = ['output', ...unknown.owner].join('.')
  return {
    ...unknownField(path, `the ${owner} of the step ${name} has no field ${cut(unknown.name)}`, unknown),
    note: () => `Fields of the ${owner}: ${listFirst(unknown.names)}`,
  }
}

function checkVariable([, name = '']: string[], { variables }: Readable): PathFinding | undefined {
  if (!variables || !name || variables.has(name)) return undefined
  const text = `reads "vars.${cut(name)}", which is never assigned`
  return { severity: 'warning', code: 'unknown_variable', text, near: { name, names: variables } }
}

function unknownField(path: string[], reason: string, { name, names }: UnknownField): PathFinding {
  const near = { name, names }
  return { severity: 'warning', code: 'unknown_field', text: `reads {{${cut(path.join('.'))}}}: ${reason}`, near }
}
