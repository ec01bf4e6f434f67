import type { Contact } from '../../features/contacts/schema.ts'
import type { SeedContact } from '../seed-options.ts'
import type { SeededWorkspace } from '../seeded-workspace.ts'

/** Creates the people of a scenario sixty days ago, and returns them in their order. */
export async function addContacts(workspace: SeededWorkspace, people: SeedContact[]): Promise<Contact[]> {
  const contacts: Contact[] = []
  for (const person of people) contacts.push(await workspace.contact({ ago: '60d', ...person }))
  return contacts
}
