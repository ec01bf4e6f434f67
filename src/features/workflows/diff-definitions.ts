import { isDeepStrictEqual } from 'node:util'
import { definitionHash } from '../../engine/compile/definition-hash.ts'
import { Workflow as WorkflowRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadWorkflowVersion } from './queries.ts'
import type { DefinitionDiff, DiffWorkflow, FieldChange, WorkflowDiff } from './schema.ts'
import { type DefinitionPart, listSteps, listTriggers, toRootPart } from './stored-definition.ts'

const DRAFT = 'draft'

type Fields = Readonly<Record<string, unknown>>

/** Compares two versions of a workflow, or a version with the draft. */
export async function diffWorkflow(scope: Scope, { workflowId, from, to }: DiffWorkflow): Promise<WorkflowDiff> {
  const { draft } = await scope.get(WorkflowRow, workflowId)
  const loadDefinition = async (side: string) =>
    side === DRAFT ? draft : (await loadWorkflowVersion(scope, { workflowId, version: Number(side) })).definition
  return { from, to, ...diffDefinitions(await loadDefinition(from), await loadDefinition(to)) }
}

/** Compares two definitions, valid or not. Steps are matched by ID, wherever they are. */
function diffDefinitions(from: Fields, to: Fields): DefinitionDiff {
  return {
    hasChanges: definitionHash(from) !== definitionHash(to),
    steps: diffSteps(listSteps(from), listSteps(to)),
    triggers: {
      added: subtractTriggers(listTriggers(to), listTriggers(from)),
      removed: subtractTriggers(listTriggers(from), listTriggers(to)),
    },
    settings: diffFields(getSection(from, 'settings'), getSection(to, 'settings')),
    variables: diffFields(getSection(from, 'variables'), getSection(to, 'variables')),
  }
}

function diffSteps(from: DefinitionPart[], to: DefinitionPart[]): DefinitionDiff['steps'] {
  const before = new Map(from.map((step) => [stepKey(step), step]))
  const after = new Map(to.map((step) => [stepKey(step), step]))
  const changed = [...before].flatMap(([id, step]) => {
    const other = after.get(id)
    const fields = other ? diffFields(withoutBody(step), withoutBody(other)) : []
    return fields.length > 0 ? [{ id, fields }] : []
  })
  return {
    added: [...after].filter(([id]) => !before.has(id)).map(toNamedStep),
    removed: [...before].filter(([id]) => !after.has(id)).map(toNamedStep),
    changed,
    reordered: !isDeepStrictEqual(listOrder(before, after), listOrder(after, before)),
  }
}

function toNamedStep([id, { fields, location: place }]: [string, DefinitionPart]) {
  const { type } = fields
  return { id, type: typeof type === 'string' ? type : null, path: place.path }
}

/** ID of a step, or its path: the steps of a draft may lack an ID. */
function stepKey({ location: place }: DefinitionPart): string {
  return place.stepId ?? place.path
}

/** Leaves out the steps of a loop, which are compared as steps of their own. */
function withoutBody({ fields: { steps, ...fields } }: DefinitionPart): Fields {
  return Array.isArray(steps) ? fields : { ...fields, ...(steps === undefined ? {} : { steps }) }
}

/** Steps that both definitions have, in the order of the first, each with the loop that contains it. */
function listOrder(steps: Map<string, DefinitionPart>, others: Map<string, DefinitionPart>): string[][] {
  const ids = new Map([...steps].map(([id, { location: place }]) => [place.path, id]))
  return [...steps]
    .filter(([id]) => others.has(id))
    .map(([id, { location: place }]) => [ids.get(place.path.replace(/\.steps\.\d+$/, '')) ?? '', id])
}

/** Triggers without an equal one among `others`. They have no IDs, so a changed trigger is a different one. */
function subtractTriggers(triggers: DefinitionPart[], others: DefinitionPart[]): Record<string, unknown>[] {
  const remaining = others.map(({ fields }) => fields)
  return triggers.flatMap(({ fields }) => {
    const index = remaining.findIndex((one) => isDeepStrictEqual(one, fields))
    if (index === -1) return [{ ...fields }]
    remaining.splice(index, 1)
    return []
  })
}

function diffFields(from: Fields, to: Fields): FieldChange[] {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  return names
    .filter((name) => !isDeepStrictEqual(from[name], to[name]))
    .map((field) => ({ field, from: from[field] ?? null, to: to[field] ?? null }))
}

function getSection(definition: Fields, name: string): Fields {
  return toRootPart(Object.hasOwn(definition, name) ? definition[name] : {}).fields
}
