import { type TemplateComponent, toBodyComponent } from '../../channels/templates/components.ts'
import { findParameterFormat, readTemplate } from '../../channels/templates/variables.ts'
import type { Template as TemplateRow } from '../../models/messaging.ts'

/** Columns that follow from the components of a template. */
export function contentColumns(
  components: Record<string, unknown>[],
): Pick<TemplateRow, 'components' | 'body' | 'parameterFormat'> {
  const template = readTemplate(components)
  const body = components.find(({ type }) => type === 'BODY')?.['text']
  return {
    components,
    body: typeof body === 'string' ? body : '',
    parameterFormat: template ? findParameterFormat(template) : null,
  }
}

/** Returns the components of a request; a request with a text only has one component. */
export function toComponents(input: {
  body?: string | undefined
  components?: TemplateComponent[] | undefined
}): TemplateComponent[] {
  return input.components ?? [toBodyComponent(input.body ?? '')]
}
