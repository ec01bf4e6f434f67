import type { SendableTemplate } from '../../channels/templates/fill-template.ts'
import { findHeaderFile, nameHeaderFile } from '../../channels/templates/header-file.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertSendable } from '../media/assert-sendable.ts'

/**
 * Checks the stored file that the parameters put into the header of a template, and adds its name to them.
 * @throws NotFoundError, UnprocessableError `media_not_sendable`
 */
export async function assertHeaderFile(
  scope: Scope,
  template: SendableTemplate,
  params: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const file = findHeaderFile(template, params)
  // What is no ID is reported as a wrong parameter when the template is filled in.
  return file && isUuid(file.mediaId) ? nameHeaderFile(template, params, await assertSendable(scope, file)) : params
}
