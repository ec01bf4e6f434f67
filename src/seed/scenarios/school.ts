import type { WorkflowDefinition } from '../../workflow-definition.ts'
import type { SeededWorkspace } from '../seeded-workspace.ts'
import { addContacts } from './add-contacts.ts'

const ABSENCE: WorkflowDefinition = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['krank', 'ill', 'absent'] } }],
  variables: { child: { type: 'string' } },
  steps: [
    {
      id: 'ask_child',
      type: 'ask',
      message: { body: 'Get well soon! What is the name of your child?' },
      saveAs: 'vars.child',
      timeout: '12h',
      onTimeout: 'end',
    },
    { id: 'mark', type: 'add_tag', tags: ['absence reported'] },
    { id: 'confirm', type: 'send_message', message: { body: 'Thank you. {{vars.child}} is excused today.' } },
  ],
}

const PERMISSION: WorkflowDefinition = {
  version: 1,
  triggers: [{ type: 'manual' }],
  steps: [
    {
      id: 'ask',
      type: 'send_message',
      message: { body: 'Please sign the form for the trip to {{input.place}} by Friday.' },
    },
  ],
}

const PARENTS: [name: string, phone: string, groups: string[]][] = [
  ['Anja Becker', '+4915100000301', ['Class 1a']],
  ['Boris Lang', '+4915100000302', ['Class 1a']],
  ['Claudia Wolf', '+4915100000303', ['Class 1a', 'Parents council']],
  ['Dieter Koch', '+4915100000304', ['Class 2b']],
  ['Elif Aydın', '+4915100000305', ['Class 2b', 'Parents council']],
  ['Frank Maier', '+4915100000306', ['Class 2b']],
]

/** Plays a school: an absence that a parent reports, one that is being reported, and news for two classes. */
export async function playSchool(workspace: SeededWorkspace): Promise<void> {
  const [anja, boris, claudia] = await addContacts(
    workspace,
    PARENTS.map(([name, phone, groups]) => ({ name, phone, groups, language: 'de' })),
  )
  if (!anja || !boris || !claudia) return
  await workspace.workflow(ABSENCE, { ago: '50d', name: 'Absences' })
  const permission = await workspace.workflow(PERMISSION, { name: 'Permission for a trip' })
  await workspace.broadcast({
    ago: '14d',
    name: 'School fair',
    body: 'The school fair is on Saturday from 10:00 on.',
    groups: ['Class 1a', 'Class 2b'],
  })
  await workspace.message({ ago: '3d', contact: anja, body: 'Mia is ill today' })
  await workspace.message({ contact: anja, body: 'Mia Becker' })
  await workspace.message({ ago: '8h', contact: claudia, body: 'When does the council meet?' })
  await workspace.message({ ago: '7h', contact: claudia, from: 'owner', body: 'On Tuesday at 19:00 in room 12.' })
  await workspace.run({ ago: '2h', workflow: permission, contact: claudia, input: { place: 'Wannsee' } })
  await workspace.message({ ago: '15m', contact: boris, body: 'Jonas ist krank' })
  await workspace.broadcast({ ago: '5m', name: 'Parents evening', groups: ['Parents council'], send: false })
}
