import type { TemplateComponent } from './components.ts'
import { isPositional, listPlaceholders } from './variables.ts'

/** Makes the component of a template that has only a body. The examples of its variables are their names. */
export function toBodyComponent(text: string): TemplateComponent {
  const names = listPlaceholders(text)
  if (names.length === 0) return { type: 'BODY', text }
  const example = names.every(isPositional)
    ? { body_text: [names.map((name) => `Value ${name}`)] }
    : { body_text_named_params: names.map((name) => ({ param_name: name, example: name })) }
  return { type: 'BODY', text, example }
}
