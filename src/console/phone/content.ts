import type { RouterOutputs } from '@parley/client'
import { toObject, toText } from '../kit/narrow.ts'

export type Message = RouterOutputs['conversations']['listMessages']['messages'][number]
export type Option = { id: string; title: string; description: string }

/** The options that a message offers, as reply buttons or as a list. */
export function readOptions({ content }: Message): { label: string; isList: boolean; options: Option[] } | undefined {
  const { buttons, list } = toObject(content)
  const { button, options: listed } = toObject(list)
  const options = Array.isArray(buttons) ? buttons : listed
  if (!Array.isArray(options)) return undefined
  return {
    label: toText(button) ?? 'Options',
    isList: !Array.isArray(buttons),
    options: options.map(toObject).map(({ id, title, description }) => ({
      id: toText(id) ?? '',
      title: toText(title) ?? '',
      description: toText(description) ?? '',
    })),
  }
}

export function readLink({ content }: Message): { title: string; url: string } | undefined {
  const link = toObject(toObject(content)['link'])
  const url = toText(link['url'])
  return url === undefined ? undefined : { title: toText(link['title']) ?? url, url }
}

export function readTemplateName({ content }: Message): string | undefined {
  return toText(toObject(toObject(content)['template'])['name'])
}

/** Parts without a form of their own, in words. */
export function describeOthers({ content, type }: Message): string | undefined {
  const { location, reaction, contacts } = toObject(content)
  if (location) {
    const { name, address, latitude, longitude } = toObject(location)
    const place = toText(name) ?? toText(address)
    return `Location${place === undefined ? '' : `: ${place}`} (${String(latitude)}, ${String(longitude)})`
  }
  if (reaction) return `Reaction: ${toText(toObject(reaction)['emoji']) ?? 'removed'}`
  if (Array.isArray(contacts))
    return `Contacts: ${contacts.map((contact) => toText(toObject(contact)['name']) ?? '').join(', ')}`
  return type === 'unsupported' ? 'A message of a type that Parley does not read' : undefined
}
