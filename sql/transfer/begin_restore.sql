-- Begin to restore a namespace from the first line of an export. The operator's caller may name one that does not
-- exist: it is made. An empty namespace becomes what the line says; one with rows keeps its own description, language
-- and settings: kept names those that differ. vectors: why the vectors of the file are not taken here; null: they are,
-- or there are none. Admin. From here to the end of the transaction, others wait to move memories in this hierarchy,
-- and attributes may refer to later lines. Security definer: writes namespaces. Errors: 42501, P0002, 22023 (settings,
-- language), 23514 (name).
create or replace function loci_api.begin_restore(p_namespace text, p_header jsonb)
returns table (created boolean, kept text[], vectors text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer;
    v_own   loci_data.namespaces;
    v_model loci_data.embedding_models;
begin
    created := loci_internal.is_operator()
               and not exists (select from loci_data.namespaces n where n.name = p_namespace);
    if created then
        perform loci_api.create_namespace(p_namespace, p_header ->> 'description', p_header ->> 'language',
                                          p_header -> 'settings');
    end if;
    v_ns := loci_internal.authorize(p_namespace, 'admin');
    perform loci_internal.lock_hierarchy(v_ns, true);
    perform loci_internal.lock_decay_rates(v_ns);  -- edges are reckoned by the rates of now
    set constraints loci_data.attributes_superseded_by_fkey, loci_data.entities_merged_into_fkey deferred;
    -- rows of the past may stand on merged entities: see refuse_merged
    perform set_config('loci.restoring', 'on', true);
    if loci_internal.namespace_is_empty(v_ns) then
        perform loci_internal.check_settings(p_header -> 'settings');
        update loci_data.namespaces n
        set description = p_header ->> 'description', settings = p_header -> 'settings',
            created_at = (p_header ->> 'created_at')::timestamptz,
            updated_at = (p_header ->> 'updated_at')::timestamptz,
            language = loci_internal.text_language(p_header ->> 'language')
        where n.id = v_ns;
    end if;
    select * into v_own from loci_data.namespaces n where n.id = v_ns;
    kept := array(select f.name from (values
                      ('description', v_own.description is distinct from p_header ->> 'description'),
                      ('language', v_own.language
                       is distinct from loci_internal.text_language(p_header ->> 'language')),
                      ('settings', v_own.settings <> p_header -> 'settings')) f(name, differs) where f.differs);
    if jsonb_typeof(p_header -> 'vectors') = 'object' then
        -- the active model stays what it is until the end: see finish_reembedding
        lock table loci_data.memories in row exclusive mode;
        select * into v_model from loci_data.embedding_models m where m.active;
        if v_model.name is distinct from p_header #>> '{vectors,model}'
            or v_model.dimensions <> (p_header #>> '{vectors,dimensions}')::integer then
            vectors := format('the vectors of the file are of the model %s (%s dimensions); %s',
                              p_header #>> '{vectors,model}',
                              p_header #>> '{vectors,dimensions}', case when v_model.id is null
                                  then 'there is none here yet'
                              else format('the one here is %s (%s)', v_model.name, v_model.dimensions) end);
        end if;
    end if;
    return next;
end $$;
comment on function loci_api.begin_restore(text, jsonb) is
    'Begin to restore a namespace: make it if it does not exist, and settle what its first line says. Admin. Errors: '
    '42501, P0002, 22023, 23514.';

-- Does a namespace hold nothing that an export would have? One probe a table. No errors.
create or replace function loci_internal.namespace_is_empty(p_namespace_id integer) returns boolean
language plpgsql stable set search_path = ''
as $$
declare
    v_source text;
    v_found  boolean;
begin
    for v_source in select k.source from loci_api.export_kinds() k loop
        execute format('select exists (select from loci_data.%I t where t.namespace_id = $1)', v_source) into v_found
            using p_namespace_id;
        if v_found then
            return false;
        end if;
    end loop;
    return true;
end $$;
comment on function loci_internal.namespace_is_empty(integer) is
    'Whether a namespace holds nothing.';
