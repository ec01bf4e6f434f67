import type { Compilation } from '../../engine/compile/compile-definition.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import type { Scope } from '../../scope/scope.ts'
import { listPublished } from '../automation/published-workflows.ts'
import { loadKeywordSettings } from '../consent/keyword-settings.ts'
import { findConsentKeyword } from '../consent/keywords.ts'
import { messageReceived } from '../../triggers/message-received.ts'
import { listTriggers } from '../workflows/stored-definition.ts'

type Keyword = { text: string; mode: string; channelId: string | undefined; path: string }

/**
 * Warns of keywords that also start another published workflow, as both would respond, and of consent keywords, which
 * start none.
 */
export async function checkKeywords(
  scope: Scope,
  triggers: Compilation['triggers'],
  { definition, workflowId }: { definition: unknown; workflowId: string | null },
): Promise<Problem[]> {
  const keywords = listKeywords(triggers)
  if (keywords.length === 0) return []
  const others = await indexKeywords(scope, workflowId)
  const sources = listTriggers(definition)
  const settings = await loadKeywordSettings(scope)
  return keywords.flatMap((keyword) => {
    const isConsentKeyword = keyword.mode === 'exact' && findConsentKeyword(settings, keyword.text) !== undefined
    const duplicate = others.get(keyword.text)?.find((other) => startsBoth(other, keyword))
    const location = sources[Number(keyword.path.split('.')[0])]?.location
    const path = keyword.path.split('.').slice(1)
    const text = JSON.stringify(keyword.text)
    if (!location) return []
    if (isConsentKeyword) {
      const advice = 'Remove it, or remove it from the consent keywords with PUT /api/workspace/consent-keywords'
      return [
        problemAt(location, path, 'consent_keyword', `${text} changes the consent and starts no workflow. ${advice}`),
      ]
    }
    if (!duplicate) return []
    const description = `${text} also starts the published workflow "${duplicate.workflowName}"`
    return [problemAt(location, path, 'duplicate_keyword', description)]
  })
}

type OtherKeyword = Keyword & { workflowName: string }

/** Lists the keywords of the other published workflows by their text. */
async function indexKeywords(scope: Scope, workflowId: string | null): Promise<Map<string, OtherKeyword[]>> {
  const index = new Map<string, OtherKeyword[]>()
  for (const { workflowId: otherId, name: workflowName, compiled } of await listPublished(scope)) {
    if (otherId === workflowId) continue
    for (const keyword of listKeywords(compiled.triggers)) {
      const sameText = index.get(keyword.text) ?? []
      sameText.push({ ...keyword, workflowName })
      index.set(keyword.text, sameText)
    }
  }
  return index
}

function startsBoth({ mode, channelId }: Keyword, keyword: Keyword): boolean {
  return (
    (mode === 'regex') === (keyword.mode === 'regex') &&
    (channelId === undefined || keyword.channelId === undefined || channelId === keyword.channelId)
  )
}

/** `path` starts with the trigger's index. A condition may separate two triggers, so those with one are left out. */
function listKeywords(triggers: Compilation['triggers']): Keyword[] {
  return triggers.flatMap((trigger, index) => {
    if (!trigger || !messageReceived.is(trigger) || trigger.if) return []
    const { match, channelId } = trigger
    return match.values.map((value, at) => ({
      text: match.mode === 'regex' ? value : normalizeText(value),
      mode: match.mode,
      channelId,
      path: `${index}.match.values.${at}`,
    }))
  })
}
