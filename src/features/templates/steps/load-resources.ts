import type { PublishedWorkflow } from '../../../engine/model/subject.ts'
import type { Scope } from '../../../scope.ts'
import { withMedia } from '../../media/load-step-media.ts'
import { withTemplates } from './load-step-templates.ts'

/** Adds what the steps of workflows refer to and need when they are executed: templates and stored files. */
export async function withResources(scope: Scope, workflows: PublishedWorkflow[]): Promise<PublishedWorkflow[]> {
  return withMedia(scope, await withTemplates(scope, workflows))
}
