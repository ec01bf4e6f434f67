import { isParleyError, type RouterInputs, type RouterOutputs } from '@parley/client'
import { useParley, useParleyClient } from '@parley/client/react'
import { useIsMutating, useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { createListeners } from '../kit/listeners.ts'
import { isObject } from '../kit/narrow.ts'
import { toast } from '../kit/toasts.tsx'
import { isPlace, readPlaces, toLine } from './json-place.ts'

export type Workflow = RouterOutputs['workflows']['get']
export type Definition = NonNullable<RouterInputs['workflows']['update']['definition']>
type Validation = RouterOutputs['workflows']['validate']

/** The text that is edited, and what of it the server has: its revision, and the text at that. */
type Edited = { revision: number; saved: string; text: string }

/** The texts by workflow. They survive a walk through the console, on which saving ends as well, but not its end. */
const texts = new Map<string, Edited>()
const { subscribe, notify } = createListeners()

const isUnsaved = (edited: Edited | undefined) => edited !== undefined && edited.text !== edited.saved

function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** Keeps a text, and has the browser ask before the page is closed while one is not saved. */
function keepText(workflowId: string, edited: Edited): void {
  texts.set(workflowId, edited)
  if ([...texts.values()].some(isUnsaved)) addEventListener('beforeunload', warn)
  else removeEventListener('beforeunload', warn)
  notify()
}

/** Time after the last change until the text is checked and drawn. */
const SETTLE_MS = 600

export type Draft = ReturnType<typeof useDraft>

/** The text of a draft: edited here, checked when it rests, and saved on request. */
export function useDraft(workflow: Workflow) {
  const { id, definition, draftRevision } = workflow
  const stored = useMemo(() => toText(definition), [definition])
  const save = useSave(id)
  const kept = useSyncExternalStore(subscribe, () => texts.get(id))
  const isDirty = isUnsaved(kept)
  const isBehind = kept !== undefined && kept.revision < draftRevision && !save.isPending
  // Nothing is lost by showing the newer draft while nothing was typed.
  const current = { revision: draftRevision, saved: stored, text: stored }
  const edited = kept && (isDirty || !isBehind) ? kept : current
  const { settled, problem, definition: read, last } = useParsed(edited.text, definition)
  const check = useCheck(id, read)
  return {
    text: edited.text,
    setText: (text: string) => keepText(id, { ...edited, text }),
    isDirty,
    /** The reason for which the text is no JSON. */
    problem: edited.text === settled ? problem : undefined,
    /** The newest definition that could be read. */
    definition: last,
    check: { ...check, isChecking: check.isChecking || edited.text !== settled },
    /** The draft was saved elsewhere while this text was edited. */
    hasConflict: isBehind && isDirty,
    takeStored: () => keepText(id, current),
    keepText: () => keepText(id, { ...current, text: edited.text }),
    save: () => {
      const { definition: changed, problem: reason } = parse(edited.text)
      if (changed) save.mutate({ workflowId: id, definition: changed, draftRevision: edited.revision })
      else toast(`The text is no JSON: ${reason}`)
    },
    isSaving: save.isPending,
    saveError: isConflict(save.error) ? null : save.error,
  }
}

function isConflict(error: unknown): boolean {
  return isParleyError(error) && error.data?.httpStatus === 409
}

function useSave(workflowId: string) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const queryKey = parley.workflows.get.queryKey({ workflowId })
  const { mutate, error } = useMutation(
    parley.workflows.update.mutationOptions({
      onSuccess: (workflow, { definition }) => {
        const saved = toText(definition)
        const text = texts.get(workflowId)?.text ?? saved
        // What was typed since the request stays unsaved.
        const isSame = toText(parse(text).definition) === saved
        keepText(workflowId, { revision: workflow.draftRevision, saved: isSame ? text : saved, text })
        queryClient.setQueryData(queryKey, workflow)
        void queryClient.invalidateQueries({ queryKey: parley.workflows.diff.queryKey() })
        toast('Draft saved')
      },
      onError: (failure) => {
        if (isConflict(failure)) void queryClient.invalidateQueries({ queryKey })
      },
    }),
  )
  // Also when the page was left and opened again meanwhile.
  const isPending = useIsMutating({
    mutationKey: parley.workflows.update.mutationKey(),
    predicate: ({ state: { variables } }) => isObject(variables) && variables['workflowId'] === workflowId,
  })
  return { mutate, error, isPending: isPending > 0 }
}

const FIRST = ['version', 'id', 'type', 'name', 'triggers', 'settings', 'variables']
const LAST = ['timeout', 'onTimeout', 'onError', 'next', 'else', 'steps', 'ui']

/** The database keeps no order of fields, so those that are read first come first. */
function rank(name: string): number {
  if (FIRST.includes(name)) return FIRST.indexOf(name) - FIRST.length
  return LAST.indexOf(name) + 1
}

function toText(definition: unknown): string {
  const order = (_: string, value: unknown) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => rank(one) - rank(other)))
      : value
  return JSON.stringify(definition, order, 2) ?? ''
}

/** Every object can be stored as a draft; the server says what is wrong with it. */
function isDefinition(value: unknown): value is Definition {
  return isObject(value)
}

function parse(text: string): { definition?: Definition; problem?: string } {
  try {
    const value: unknown = JSON.parse(text)
    return isDefinition(value) ? { definition: value } : { problem: 'A definition is an object in braces.' }
  } catch {
    const found = readPlaces(text)
    if (isPlace(found)) return { problem: 'The text is no JSON.' }
    const { line, column } = toLine(text, found.at)
    return { problem: `Line ${line}, column ${column}: ${found.reason}.` }
  }
}

/** A text once it has not changed for a moment, and what it says. While it is no JSON, `last` is the definition before. */
function useParsed(text: string, stored: Definition) {
  const [parsed, setParsed] = useState(() => readText(text, stored))
  useEffect(() => {
    const timer = setTimeout(
      () => setParsed((before) => (before.settled === text ? before : readText(text, before.last))),
      SETTLE_MS,
    )
    return () => clearTimeout(timer)
  }, [text])
  return parsed
}

function readText(settled: string, before: Definition) {
  const parsed = parse(settled)
  return { settled, ...parsed, last: parsed.definition ?? before }
}

type Check = { result: Validation | undefined; error: unknown; isChecking: boolean }

/** Checks a definition. The answer for an earlier one is ignored, and its request canceled. */
function useCheck(workflowId: string, definition: Definition | undefined): Check {
  const client = useParleyClient()
  const [check, setCheck] = useState<Check>({ result: undefined, error: null, isChecking: true })
  useEffect(() => {
    if (!definition) return
    const controller = new AbortController()
    const { signal } = controller
    setCheck(({ result }) => ({ result, error: null, isChecking: true }))
    client.workflows.validate
      .mutate({ workflowId, definition }, { signal })
      .then((result) => ({ result, error: null }))
      .catch((error: unknown) => ({ result: undefined, error }))
      .then((answer) => signal.aborted || setCheck({ ...answer, isChecking: false }))
    return () => controller.abort()
  }, [client, workflowId, definition])
  return { ...check, isChecking: check.isChecking && definition !== undefined }
}
