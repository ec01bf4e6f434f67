import type { Knex } from 'knex'
import type { Tables } from 'knex/types/tables.js'
import { phoneCountry, toPhoneKey } from '../../src/platform/phone.ts'
import { addMs, DAY, HOUR } from '../../src/platform/time.ts'
import { DEMO, demoId } from './ids.ts'

/** The phone numbers are from ranges reserved for fiction, or invented in the format of the country. */
const PEOPLE: [name: string, phone: string, language: string, timezone: string][] = [
  ['Ana Souza', '+5511900000001', 'pt-BR', 'America/Sao_Paulo'],
  ['Bruno Lima', '+5521900000002', 'pt-BR', 'America/Sao_Paulo'],
  ['Carla Mendes', '+5531900000003', 'pt-BR', 'America/Sao_Paulo'],
  ['Diego Rocha', '+5541900000004', 'pt-BR', 'America/Sao_Paulo'],
  ['Elena García', '+34600000005', 'es', 'Europe/Madrid'],
  ['Fernando Ruiz', '+34600000006', 'es', 'Europe/Madrid'],
  ['Gabriela Torres', '+5215500000007', 'es-MX', 'America/Mexico_City'],
  ['Hugo Navarro', '+5215500000008', 'es-MX', 'America/Mexico_City'],
  ['Inés Castro', '+5491100000009', 'es-AR', 'America/Argentina/Buenos_Aires'],
  ['Joaquín Vega', '+5491100000010', 'es-AR', 'America/Argentina/Buenos_Aires'],
  ['Klara Weber', '+4915100000011', 'de', 'Europe/Berlin'],
  ['Lukas Schmidt', '+4915100000012', 'de', 'Europe/Berlin'],
  ['Marie Dubois', '+33600000013', 'fr', 'Europe/Paris'],
  ['Nicolas Martin', '+33600000014', 'fr', 'Europe/Paris'],
  ['Olivia Smith', '+447700900015', 'en-GB', 'Europe/London'],
  ['Peter Jones', '+447700900016', 'en-GB', 'Europe/London'],
  ['Quinn Davis', '+12025550117', 'en-US', 'America/New_York'],
  ['Rachel Moore', '+12025550118', 'en-US', 'America/New_York'],
  ['Samuel Clark', '+14155550119', 'en-US', 'America/Los_Angeles'],
  ['Tara Patel', '+919000000020', 'en-IN', 'Asia/Kolkata'],
  ['Uma Reddy', '+919000000021', 'en-IN', 'Asia/Kolkata'],
  ['Vikram Singh', '+919000000022', 'hi', 'Asia/Kolkata'],
  ['Wanjiru Kamau', '+254700000023', 'sw', 'Africa/Nairobi'],
  ['Ximena Flores', '+5215500000024', 'es-MX', 'America/Mexico_City'],
  ['Yusuf Demir', '+905000000025', 'tr', 'Europe/Istanbul'],
  ['Zeynep Kaya', '+905000000026', 'tr', 'Europe/Istanbul'],
  ['Adaeze Obi', '+2348000000027', 'en-NG', 'Africa/Lagos'],
  ['Babajide Cole', '+2348000000028', 'en-NG', 'Africa/Lagos'],
  ['Chen Wei', '+6580000029', 'zh', 'Asia/Singapore'],
  ['Dewi Lestari', '+6281200000030', 'id', 'Asia/Jakarta'],
  ['Eko Prasetyo', '+6281200000031', 'id', 'Asia/Jakarta'],
  ['Fatima Zahra', '+212600000032', 'fr-MA', 'Africa/Casablanca'],
  ['Giulia Rossi', '+393300000033', 'it', 'Europe/Rome'],
  ['Hiroshi Tanaka', '+819000000034', 'ja', 'Asia/Tokyo'],
  ['Isla Brown', '+61400000035', 'en-AU', 'Australia/Sydney'],
  ['Jan de Vries', '+31600000036', 'nl', 'Europe/Amsterdam'],
  ['Kasia Nowak', '+48500000037', 'pl', 'Europe/Warsaw'],
  ['Layla Haddad', '+971500000038', 'ar', 'Asia/Dubai'],
  ['Mateus Alves', '+351910000039', 'pt', 'Europe/Lisbon'],
  ['Nora Berg', '+4790000040', 'nb', 'Europe/Oslo'],
]

/** The runs of the demo workflows tag further contacts. */
const TAGS: [name: string, color: string, contacts: number[]][] = [
  ['vip', '#B45309', [1, 5, 11, 17, 29]],
  ['newsletter', '#1D4ED8', [1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 20, 25, 30, 33]],
  ['wholesale', '#15803D', [4, 8, 12, 28, 36]],
  ['greeted', '#64748B', [1, 2, 5]],
  ['opted-out', '#B91C1C', []],
]

const GROUPS: [name: string, description: string, contacts: number[]][] = [
  ['Brazil', 'Customers with a Brazilian number', [1, 2, 3, 4]],
  ['Europe', 'Customers in European time zones', [5, 6, 11, 12, 13, 14, 15, 16, 33, 36, 37, 39, 40]],
  ['Spring sale', 'Customers who asked for news of the spring sale', [3, 7, 9, 13, 17, 19, 21, 23, 25]],
]

export async function seedContacts(tx: Knex, now: Date): Promise<void> {
  await tx('contacts').insert(
    PEOPLE.map(([name, phone, language, timezone], index) =>
      contactRow(index + 1, { name, phone, language, timezone }, now),
    ),
  )
  await seedConsents(tx)
  await seedTags(tx, now)
  await seedGroups(tx, now)
}

function contactRow(
  n: number,
  person: { name: string; phone: string; language: string; timezone: string },
  now: Date,
): Knex.ResolveTableType<Tables['contacts'], 'insert'> {
  const hasOptedIn = n % 2 === 1
  return {
    tenant_id: DEMO.workspaceId,
    id: demoId('contact', n),
    ...person,
    phone_key: toPhoneKey(person.phone),
    country: phoneCountry(person.phone),
    email: n % 3 === 0 ? null : `${toLocalPart(person.name)}@customer.example`,
    fields: JSON.stringify(n % 4 === 0 ? { customerNumber: `C-${1000 + n}` } : {}),
    marketing_consent: hasOptedIn ? 'opted_in' : 'unknown',
    consent_source: hasOptedIn ? 'import' : null,
    consent_at: hasOptedIn ? addMs(now, -n * DAY) : null,
    source: n % 5 === 0 ? 'inbound' : 'import',
    created_at: addMs(now, -(50 * DAY - n * HOUR)),
    updated_at: addMs(now, -n * HOUR),
  }
}

/** Writes the entries of the ledger that belong to the consents. */
async function seedConsents(tx: Knex): Promise<void> {
  await tx.raw(
    `insert into consent_entries (tenant_id, id, contact_id, purpose, state, source, actor, created_at)
     select tenant_id, gen_random_uuid(), id, 'marketing', marketing_consent, consent_source,
       '{"type": "user", "id": null, "name": null}', consent_at
     from contacts where tenant_id = ? and marketing_consent <> 'unknown'`,
    [DEMO.workspaceId],
  )
}

/** Converts a name to the local part of an e-mail address: "Elena García" to "elena". */
function toLocalPart(name: string): string {
  const [firstName = ''] = name.split(' ')
  return firstName
    .normalize('NFD')
    .replaceAll(/[^a-z]/gi, '')
    .toLowerCase()
}

async function seedTags(tx: Knex, now: Date): Promise<void> {
  const tenant_id = DEMO.workspaceId
  const times = { created_at: addMs(now, -40 * DAY), updated_at: addMs(now, -40 * DAY) }
  await tx('tags').insert(
    TAGS.map(([name, color], index) => ({ tenant_id, id: demoId('tag', index + 1), name, color, ...times })),
  )
  await tx('contact_tags').insert(
    TAGS.flatMap(([, , contacts], index) =>
      contacts.map((n) => ({
        tenant_id,
        contact_id: demoId('contact', n),
        tag_id: demoId('tag', index + 1),
        created_at: addMs(now, -n * HOUR),
      })),
    ),
  )
}

async function seedGroups(tx: Knex, now: Date): Promise<void> {
  const tenant_id = DEMO.workspaceId
  const times = { created_at: addMs(now, -40 * DAY), updated_at: addMs(now, -40 * DAY) }
  await tx('groups').insert(
    GROUPS.map(([name, description], index) => ({
      tenant_id,
      id: demoId('group', index + 1),
      name,
      description,
      ...times,
    })),
  )
  await tx('group_contacts').insert(
    GROUPS.flatMap(([, , contacts], index) =>
      contacts.map((n) => ({
        tenant_id,
        contact_id: demoId('contact', n),
        group_id: demoId('group', index + 1),
        created_at: addMs(now, -n * HOUR),
      })),
    ),
  )
}
