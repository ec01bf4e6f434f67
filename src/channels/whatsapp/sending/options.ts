import type { ContentParts, ListOption } from '../../../message-content/content.ts'
import {
  BUTTON_TITLE_MAX,
  BUTTONS_MAX,
  CAPTION_MAX,
  LIST_MAX,
  LIST_TITLE_MAX,
  TEXT_MAX,
} from '../../../message-content/limits.ts'

/** Label that opens a list whose sender chose none. */
const LIST_LABEL = 'Options'

export function fitButtons(body: string, buttons: ListOption[]): boolean {
  return (
    body.length <= CAPTION_MAX && haveDistinctTitles(buttons, { count: BUTTONS_MAX, titleLength: BUTTON_TITLE_MAX })
  )
}

export function fitList(body: string, options: ListOption[]): boolean {
  return body.length <= TEXT_MAX && haveDistinctTitles(options, { count: LIST_MAX, titleLength: LIST_TITLE_MAX })
}

function haveDistinctTitles(options: ListOption[], max: { count: number; titleLength: number }): boolean {
  return (
    options.length > 0 &&
    options.length <= max.count &&
    new Set(options.map(({ title }) => title)).size === options.length &&
    options.every(({ title }) => title.length <= max.titleLength)
  )
}

export function composeButtons(
  body: string,
  buttons: ListOption[],
  header: object | undefined,
): Record<string, unknown> {
  const action = { buttons: buttons.map(({ id, title }) => ({ type: 'reply', reply: { id, title } })) }
  return toInteractive('button', { body, header, action })
}

export function composeList(
  body: string,
  { button = LIST_LABEL, options }: { button?: string; options: ListOption[] },
): Record<string, unknown> {
  const rows = options.map(({ id, title, description }) => ({ id, title, ...(description ? { description } : {}) }))
  return toInteractive('list', { body, header: undefined, action: { button, sections: [{ rows }] } })
}

export function composeLink(
  body: string,
  { title, url }: NonNullable<ContentParts['link']>,
  header: object | undefined,
): Record<string, unknown> {
  return toInteractive('cta_url', {
    body,
    header,
    action: { name: 'cta_url', parameters: { display_text: title, url } },
  })
}

function toInteractive(
  type: string,
  { body, header, action }: { body: string; header: object | undefined; action: object },
): Record<string, unknown> {
  return { type: 'interactive', interactive: { type, ...(header ? { header } : {}), body: { text: body }, action } }
}

/** Lists options under the text, numbered. */
export function numberOptions(body: string, options: ListOption[]): string {
  const list = options.map(({ title }, index) => `\n${index + 1}. ${title}`).join('')
  return list === '' ? body : `${body.slice(0, TEXT_MAX - list.length - 1).toWellFormed()}\n${list}`
}
