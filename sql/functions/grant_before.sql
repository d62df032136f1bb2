-- What did the grant of an agent say before an operation? What changes until then say, one after the other, since it was last given; then
-- what this one found. Index changes_subject. Called by undo_grants; internal.
create or replace function loci.grant_before(p_namespace_id integer, p_operation uuid, p_agent uuid) returns table (role text, expires_at timestamptz)
language sql stable set search_path = ''
as $$
    with noted as (
        select 0 as place, c.position as nth, c.operation_id, c.action, c.before, c.after from loci_data.changes c
        where c.namespace_id = p_namespace_id and c.subject_id = p_agent and c.kind = 'grant'
        union all
        select 1, o.id, o.operation_id, o.action, o.before, o.after from loci_data.outbox o
        where o.namespace_id = p_namespace_id and o.subject_id = p_agent and o.kind = 'grant'
    ), until as (
        select n.* from noted n
        where (n.place, n.nth) < (select f.place, f.nth from noted f where f.operation_id = p_operation order by f.place, f.nth limit 1)
    ), standing as (
        select jsonb_object_agg(f.key, f.value order by u.place, u.nth) as fields
        from until u cross join lateral jsonb_each(u.after) f
        where (u.place, u.nth) >= (select g.place, g.nth from until g where g.action = 'created' order by g.place desc, g.nth desc limit 1)
    ), found as (
        select f.before from noted f where f.operation_id = p_operation order by f.place, f.nth limit 1
    )
    select w.fields ->> 'role', (w.fields ->> 'expires_at')::timestamptz
    from (select coalesce(s.fields, '{}') || coalesce(f.before, '{}') as fields from standing s cross join found f) w
$$;
comment on function loci.grant_before(integer, uuid, uuid) is 'What a grant said before an operation. Internal.';
