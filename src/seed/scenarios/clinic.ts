import type { WorkflowDefinition } from '../../workflow-definition.ts'
import type { SeededWorkspace } from '../seeded-workspace.ts'
import { addContacts } from './add-contacts.ts'

const BOOKING: WorkflowDefinition = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['appointment', 'cita'] } }],
  variables: { day: { type: 'string' } },
  steps: [
    {
      id: 'ask_day',
      type: 'ask',
      message: { body: 'Hello {{contact.name}}, on which day would you like to come?' },
      saveAs: 'vars.day',
      timeout: '1d',
      onTimeout: 'end',
    },
    { id: 'mark', type: 'add_tag', tags: ['asked for appointment'] },
    {
      id: 'confirm',
      type: 'send_message',
      message: { body: 'We noted {{vars.day}} and call you to confirm the time.' },
    },
  ],
}

const REMINDER: WorkflowDefinition = {
  version: 1,
  triggers: [{ type: 'manual' }],
  steps: [
    { id: 'remind', type: 'send_message', message: { body: 'See you tomorrow at {{input.time}}, {{contact.name}}.' } },
    { id: 'mark', type: 'add_tag', tags: ['reminded'] },
  ],
}

const PATIENTS: [name: string, phone: string, groups: string[], fields: Record<string, string>][] = [
  ['Lucía Romero', '+34600000101', ['Physiotherapy'], { doctor: 'Dr. Vidal' }],
  ['Marcos Gil', '+34600000102', ['Physiotherapy'], { doctor: 'Dr. Vidal' }],
  ['Nuria Soler', '+34600000103', ['Dentistry'], { doctor: 'Dr. Prieto' }],
  ['Pablo Ferrer', '+34600000104', ['Dentistry'], { doctor: 'Dr. Prieto' }],
  ['Rosa Medina', '+34600000105', ['Dentistry', 'Physiotherapy'], { doctor: 'Dr. Prieto' }],
  ['Sergio Ramos Ortiz', '+34600000106', [], {}],
]

/** Plays a clinic: appointments that patients ask for, one that waits for an answer, and a reminder. */
export async function playClinic(workspace: SeededWorkspace): Promise<void> {
  const [lucia, marcos, nuria] = await addContacts(
    workspace,
    PATIENTS.map(([name, phone, groups, fields]) => {
      return { name, phone, groups, fields, language: 'es', consent: { marketing: 'opted_in' } }
    }),
  )
  if (!lucia || !marcos || !nuria) return
  await workspace.workflow(BOOKING, { ago: '40d', name: 'Appointments' })
  const reminder = await workspace.workflow(REMINDER, { name: 'Reminder' })
  await workspace.broadcast({
    ago: '10d',
    name: 'New opening hours',
    body: 'From Monday on we are open until 20:00.',
    groups: ['Physiotherapy', 'Dentistry'],
  })
  await workspace.message({ ago: '2d', contact: lucia, body: 'I need an appointment, please' })
  await workspace.message({ contact: lucia, body: 'Thursday' })
  await workspace.run({ ago: '26h', workflow: reminder, contact: lucia, input: { time: '10:30' } })
  await workspace.message({ ago: '5h', contact: nuria, body: 'My crown is loose. Is anybody there?' })
  await workspace.message({ ago: '4h', contact: nuria, from: 'owner', body: 'Come by at 16:00, we will look at it.' })
  await workspace.message({ ago: '20m', contact: marcos, body: 'Quiero una cita' })
}
