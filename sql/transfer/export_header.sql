-- The first line of an export: the namespace itself, its own settings, how many lines of each kind follow, and with
-- p_vectors the active model whose vectors are among them. kinds: the same counts, to be read without the line. Admin.
-- Cost: counts of every table of the namespace by index. Security definer: reads them all. Errors: 42501, P0002, 22023
-- (vectors asked for, and no model is active).
create or replace function loci_api.export_header(p_namespace text, p_vectors boolean default false)
returns table (line text, kinds text[], counts bigint[])
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' set extra_float_digits = 1
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_kind  record;
    v_count bigint;
    v_model loci_data.embedding_models;
begin
    for v_kind in select k.kind, k.source from loci_api.export_kinds() k order by k.place loop
        execute format('select count(*) from loci_data.%I t where t.namespace_id = $1', v_kind.source) into v_count
            using v_ns;
        kinds := array_append(kinds, v_kind.kind);
        counts := array_append(counts, v_count);
    end loop;
    if p_vectors then
        select * into v_model from loci_data.embedding_models m where m.active;
        if not found then
            raise invalid_parameter_value
                using message = 'there is no embedding model here, so there are no vectors to export',
                column = 'vectors';
        end if;
        kinds := array_append(kinds, 'vector');
        counts := array_append(counts,
                               (select count(*) from loci_data.memory_vectors v where v.namespace_id = v_ns
                                and v.model_id = v_model.id));
    end if;
    select row_to_json(l)::text into line
    from (select 'namespace' as kind, 'loci' as format, 1 as version, n.name, n.description, c.cfgname as language,
          n.settings,
                 n.created_at, n.updated_at, statement_timestamp() as exported_at,
                 case when v_model.id is not null then json_build_object('model', v_model.name,
                     'dimensions', v_model.dimensions) end as vectors,
                 (select format('{%s}', string_agg(format('"%s":%s', u.kind, u.count), ',' order by u.place))::json
                  from unnest(kinds, counts) with ordinality u(kind, count, place)) as counts
          from loci_data.namespaces n join pg_catalog.pg_ts_config c on c.oid = n.language where n.id = v_ns) l;
    return next;
end $$;
comment on function loci_api.export_header(text, boolean) is
    'First line of an export, its kinds in order and how many lines each has. Admin. Errors: 42501, P0002, 22023.';
