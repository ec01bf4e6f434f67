import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'
import { listPublished } from '../automation/published-workflows.ts'
import { messageReceived } from '../../triggers/message-received.ts'
import { listTriggers } from '../workflows/stored-definition.ts'

type Keyword = { text: string; mode: string; channelId: string | undefined; path: string }

/** Warns of words that start a published workflow already: both would answer. */
export async function checkKeywords(
  scope: Scope,
  compiled: CompiledDefinition,
  { definition, workflowId }: { definition: unknown; workflowId: string | null },
): Promise<Problem[]> {
  const own = compiled.triggers.flatMap((_, index) => keywordsOf(compiled, index))
  if (own.length === 0) return []
  const others = (await listPublished(scope)).filter((other) => other.workflowId !== workflowId)
  const triggers = listTriggers(definition)
  return own.flatMap((keyword) => {
    const rival = others.find((other) => hasKeyword(other, keyword))
    const place = triggers[Number(keyword.path.split('.')[0])]?.place
    if (!rival || !place) return []
    const what = `${JSON.stringify(keyword.text)} starts the published workflow "${rival.name}" too`
    return [problemAt(place, keyword.path.split('.').slice(1), 'duplicate_keyword', what)]
  })
}

function hasKeyword({ compiled }: PublishedWorkflow, keyword: Keyword): boolean {
  return compiled.triggers
    .flatMap((_, index) => keywordsOf(compiled, index))
    .some(
      ({ text, mode, channelId }) =>
        text === keyword.text &&
        (mode === 'regex') === (keyword.mode === 'regex') &&
        (channelId === undefined || keyword.channelId === undefined || channelId === keyword.channelId),
    )
}

/** `path` begins with the trigger's index. Conditions may keep two triggers apart, so those with one have no keywords. */
function keywordsOf({ triggers }: CompiledDefinition, index: number): Keyword[] {
  const trigger = triggers[index]
  if (!trigger || !messageReceived.is(trigger) || trigger.if) return []
  const { match, channelId } = trigger
  return match.values.map((value, at) => ({
    text: match.mode === 'regex' ? value : normalizeText(value),
    mode: match.mode,
    channelId,
    path: `${index}.match.values.${at}`,
  }))
}
