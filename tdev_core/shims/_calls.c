/* Callables that stand before tdev's Python wrappers of torch's C functions and methods.

   Most calls of a wrapped function have nothing in them for tdev to do, or no more than to put the device
   that "cuda" means here in its place. To see that in Python takes 150 to 350 ns, most of them for the
   tuple and the dictionary of *args and **kwargs; here it takes 20 to 70. Such a call goes on to torch's
   own function; every other one goes to the Python wrapper, as it came.

   Whatever else one may ask of the object (its name, documentation, signature) is the wrapper's.

   calls.py is the way in, and says what the arguments mean. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

/* What this file was when it was compiled: the build defines TDEV_SOURCE, without quotes, which compilers
   read in different ways on their command lines. */
#ifndef TDEV_SOURCE
#define TDEV_SOURCE unknown
#endif
#define QUOTED(text) #text
#define IN_QUOTES(text) QUOTED(text)

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *weakrefs;
    PyObject *wrapper;   /* the Python function that answers every call */
    PyObject *original;  /* torch's own; NULL where it is looked up in `namespace` at each call */
    PyObject *namespace; /* dictionary of the module whose function is meant */
    PyObject *name;      /* ... and the function's name in it */
    PyObject *keywords;  /* dictionary: by the name of an argument what stands for its values, by value; a call
                            with another value is the wrapper's, and for None with any. True: any value goes on.
                            Names that are not there go on, unless there is a True. */
    int strict;          /* whether there is one */
    PyObject *leading;   /* for methods: dictionary, by value, of what stands for the first argument after the
                            object; NULL where that does not matter. A call with another is the wrapper's.
                            In `keywords` it says that this argument may be given by name. */
    PyObject *copied;    /* those values for which the method is to copy; a set */
    PyObject *implied;   /* the first argument of a call that has none; NULL: such a call has none */
    PyObject *kinds;     /* tuple of the exact types whose values may be looked up in these */
    PyObject *moved;     /* dictionary of marks, as moved.py makes them; NULL where moves do not copy */
    PyObject *there;     /* the device object by which a move copies, though its value says the CPU */
    PyObject *overridden; /* called with the object: whether others are to be told of the call; or NULL */
    Py_ssize_t most;     /* with more positional arguments than that the call is the wrapper's; -1: never */
} Call;

/* "requires_grad", "is_leaf" and ("copy",); made with the module and never freed. */
static PyObject *REQUIRES_GRAD, *IS_LEAF, *COPY;

/* The most arguments of a call that is changed here. */
#define MOST_ARGUMENTS 16

/* A call as torch's function is to have it. What is put in place of an argument is in `held`. */
typedef struct {
    PyObject *args[MOST_ARGUMENTS + 2];
    Py_ssize_t given;
    PyObject *names; /* a new reference, or NULL */
    PyObject *held[MOST_ARGUMENTS + 2];
    int count;
    int moves; /* whether the result is to be marked */
} Changed;

/* Marks, which say of a tensor that a move has given it: weak references by the tensor's address. One whose
   tensor has died stays until another tensor has its address, or until there are twice as many as live. */
#define FEWEST_SWEPT 1024
static Py_ssize_t sweep_at = FEWEST_SWEPT;

/* What a weak reference is of, NULL once it has died; not a new reference. */
static PyObject *
referent(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found;
    if (PyWeakref_GetRef(reference, &found) <= 0) {
        return NULL;
    }
    Py_DECREF(found); /* others hold it, and nothing else runs before it is looked at */
#else
    PyObject *found = PyWeakref_GetObject(reference);
    if (found == Py_None) {
        return NULL;
    }
#endif
    return found;
}

/* 0; -1 with an error set. */
static int
sweep(PyObject *marks)
{
    PyObject *dead = PyList_New(0), *key, *reference;
    Py_ssize_t position = 0;
    int failed = dead == NULL ? -1 : 0;
    while (failed == 0 && PyDict_Next(marks, &position, &key, &reference)) {
        if (referent(reference) == NULL) {
            failed = PyList_Append(dead, key);
        }
    }
    for (Py_ssize_t i = 0; failed == 0 && i < PyList_GET_SIZE(dead); i++) {
        failed = PyDict_DelItem(marks, PyList_GET_ITEM(dead, i));
    }
    Py_XDECREF(dead);
    sweep_at = Py_MAX(FEWEST_SWEPT, 2 * PyDict_GET_SIZE(marks));
    return failed;
}

/* 0; -1 with an error set. An override of the method may have given anything. */
static int
mark(PyObject *marks, PyObject *tensor)
{
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(tensor))) {
        return 0;
    }
    PyObject *key = PyLong_FromVoidPtr(tensor), *reference = PyWeakref_NewRef(tensor, NULL);
    int failed = key == NULL || reference == NULL ? -1 : PyDict_SetItem(marks, key, reference);
    Py_XDECREF(reference);
    Py_XDECREF(key);
    return failed == 0 && PyDict_GET_SIZE(marks) > sweep_at ? sweep(marks) : failed;
}

/* 1 or 0; -1 with an error set. */
static int
is_marked(PyObject *marks, PyObject *tensor)
{
    if (PyDict_GET_SIZE(marks) == 0) {
        return 0;
    }
    PyObject *key = PyLong_FromVoidPtr(tensor);
    PyObject *reference = key == NULL ? NULL : PyDict_GetItemWithError(marks, key);
    Py_XDECREF(key);
    if (reference == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    return referent(reference) == tensor;
}

/* How a call goes on. */
typedef enum { FAILED = -1, WRAPPER, AS_IT_IS, CHANGED } Way;

/* Whether `value` may be looked up: nothing of a stranger's class is called, and 1 is not taken for True. */
static int
is_simple(const Call *self, PyObject *value)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->kinds); i++) {
        if ((PyObject *)Py_TYPE(value) == PyTuple_GET_ITEM(self->kinds, i)) {
            return 1;
        }
    }
    return 0;
}

/* Sets `found` to what `known` has for `value`, a borrowed reference; AS_IT_IS where that is the value itself. */
static Way
look_up(const Call *self, PyObject *known, PyObject *value, PyObject **found)
{
    if (value == self->there && known == self->leading) {
        *found = value; /* which is equal to a device that means something else */
        return CHANGED;
    }
    if (!is_simple(self, value)) {
        return WRAPPER;
    }
    *found = PyDict_GetItemWithError(known, value);
    if (*found == NULL) {
        return PyErr_Occurred() ? FAILED : WRAPPER;
    }
    return *found == value ? AS_IT_IS : CHANGED;
}

/* Puts `value` into the call and keeps it alive: the call may clear the dictionary that it is from. */
static void
put(PyObject *value, Py_ssize_t place, Changed *changed)
{
    Py_INCREF(value);
    changed->held[changed->count++] = value;
    changed->args[place] = value;
}

/* 1 or 0; -1 with an error set. */
static int
is_true(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    int answer = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return answer;
}

/* Adds copy=True, but for what has been moved before, and for a leaf that requires grad: the program wants to
   find the gradient on the very object that it holds. Where nothing is given by name it is added by its place,
   to(device, dtype, non_blocking, copy): torch takes 190 ns longer to read a name. */
static Way
add_copy(PyObject *marks, PyObject *tensor, PyObject *names, Changed *changed)
{
    changed->moves = 1;
    int there = marks == NULL ? 0 : is_marked(marks, tensor);
    if (there != 0) {
        return there < 0 ? FAILED : CHANGED;
    }
    int grad = is_true(tensor, REQUIRES_GRAD);
    int stays = grad == 1 ? is_true(tensor, IS_LEAF) : grad;
    if (stays < 0) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
            return FAILED; /* Ctrl-C, for one, is nobody's to forget */
        }
        PyErr_Clear(); /* no tensor: the wrapper's error is the one to see */
        return WRAPPER;
    }
    if (stays) {
        return CHANGED;
    }
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count == 0) {
        PyObject *const places[] = {NULL, NULL, Py_None, Py_False, Py_True};
        if (changed->given > 4) {
            return WRAPPER;
        }
        while (changed->given < 5) {
            changed->args[changed->given] = places[changed->given];
            changed->given++;
        }
        return CHANGED;
    }
    changed->args[changed->given + count] = Py_True;
    changed->names = PySequence_Concat(names, COPY);
    return changed->names == NULL ? FAILED : CHANGED;
}

/* Which way a call goes; for CHANGED, `changed` has it, and whatever the answer, the caller clears that. */
static Way
way_of(const Call *self, PyObject *const *args, Py_ssize_t given, PyObject *names, Changed *changed)
{
    if (self->most >= 0 && given > self->most) {
        return WRAPPER;
    }
    if (self->overridden != NULL && given > 0) {
        PyObject *told = PyObject_CallOneArg(self->overridden, args[0]);
        int others = told == NULL ? -1 : PyObject_IsTrue(told);
        Py_XDECREF(told);
        if (others != 0) {
            return others < 0 ? FAILED : WRAPPER;
        }
    }
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    Way way = AS_IT_IS;
    PyObject *first = NULL, *found = NULL;
    int implied = 0, copies = 0;
    if (self->leading != NULL) { /* args[0] is the object whose method it is */
        implied = given == 1 && self->implied != NULL;
        first = implied ? self->implied : given > 1 ? args[1] : NULL;
        if (first != NULL) {
            way = look_up(self, self->leading, first, &found);
            if (way <= WRAPPER) {
                return way;
            }
            copies = way != CHANGED ? 0 : first == self->there ? 1 : PySet_Contains(self->copied, first);
        }
    }
    if (way == AS_IT_IS && !implied && count == 0) {
        return AS_IT_IS;
    }
    if (given + count > MOST_ARGUMENTS) {
        return WRAPPER;
    }
    changed->given = given + implied;
    for (Py_ssize_t i = 0; i < given + count; i++) {
        changed->args[i < given ? i : i + implied] = args[i];
    }
    if (first != NULL) {
        put(found, 1, changed);
        way = implied ? CHANGED : way;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *known = PyDict_GetItemWithError(self->keywords, PyTuple_GET_ITEM(names, i));
        if (known == NULL && PyErr_Occurred()) {
            return FAILED;
        }
        if (known == Py_True || (known == NULL && !self->strict)) {
            continue;
        }
        if (known == NULL || known == Py_None || (known == self->leading && first != NULL)) {
            return WRAPPER;
        }
        PyObject *value = args[given + i];
        Way next = look_up(self, known, value, &found);
        if (next <= WRAPPER) {
            return next;
        }
        if (next == CHANGED) {
            put(found, changed->given + i, changed);
            if (known == self->leading) {
                copies |= value == self->there ? 1 : PySet_Contains(self->copied, value);
            }
            way = CHANGED;
        }
    }
    if (copies < 0) {
        return FAILED;
    }
    return copies ? add_copy(self->moved, args[0], names, changed) : way;
}

/* A new reference, or NULL without an error: torch's module does not have the name (any more). */
static PyObject *
original_of(const Call *self)
{
    PyObject *found = self->original;
    if (found == NULL) {
        found = PyDict_GetItemWithError(self->namespace, self->name);
    }
    Py_XINCREF(found); /* the call may take it out of its module */
    return found;
}

static PyObject *
call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Call *self = (Call *)object;
    Changed changed;
    changed.names = NULL;
    changed.count = 0;
    changed.moves = 0;
    PyObject *answer = NULL, *original = NULL;
    Way way = way_of(self, args, PyVectorcall_NARGS(nargsf), names, &changed);
    if (way > WRAPPER) {
        original = original_of(self);
        way = original != NULL ? way : PyErr_Occurred() ? FAILED : WRAPPER;
    }
    switch (way) {
    case FAILED:
        break;
    case WRAPPER:
        answer = PyObject_Vectorcall(self->wrapper, args, nargsf, names);
        break;
    case AS_IT_IS:
        answer = PyObject_Vectorcall(original, args, nargsf, names);
        break;
    case CHANGED:
        answer = PyObject_Vectorcall(original, changed.args, (size_t)changed.given,
                                     changed.names == NULL ? names : changed.names);
        if (answer != NULL && changed.moves && self->moved != NULL && mark(self->moved, answer) < 0) {
            Py_CLEAR(answer);
        }
        break;
    }
    Py_XDECREF(original);
    Py_XDECREF(changed.names);
    for (int i = 0; i < changed.count; i++) {
        Py_DECREF(changed.held[i]);
    }
    return answer;
}

/* A new reference, or NULL where there is none or it is None. */
static PyObject *
given(PyObject *object)
{
    if (object == NULL || object == Py_None) {
        return NULL;
    }
    Py_INCREF(object);
    return object;
}

static PyObject *
new_call(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"wrapper", "original", "keywords", "kinds", "most",
                            "leading", "copied",   "implied",  "moved", "there", "overridden", NULL};
    PyObject *wrapper, *original, *keywords, *kinds, *leading = Py_None, *copied = NULL, *implied = NULL;
    PyObject *moved = Py_None, *there = Py_None, *overridden = Py_None;
    Py_ssize_t most = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!O!|nOO!OOOO:call", names, &wrapper, &original,
                                     &PyDict_Type, &keywords, &PyTuple_Type, &kinds, &most, &leading,
                                     &PySet_Type, &copied, &implied, &moved, &there, &overridden)) {
        return NULL;
    }
    PyObject *namespace = NULL, *name = NULL;
    if (PyTuple_CheckExact(original)) {
        if (!PyArg_ParseTuple(original, "O!U:original", &PyDict_Type, &namespace, &name)) {
            return NULL;
        }
        original = NULL;
    }
    if (!PyCallable_Check(wrapper) || (original != NULL && !PyCallable_Check(original))) {
        PyErr_SetString(PyExc_TypeError, "wrapper and original must be callable");
        return NULL;
    }
    if (leading != Py_None && (!PyDict_CheckExact(leading) || copied == NULL)) {
        PyErr_SetString(PyExc_TypeError, "leading must be None or a dictionary, and come with copied");
        return NULL;
    }
    PyObject *table, *parameter;
    Py_ssize_t position = 0;
    int strict = 0;
    while (PyDict_Next(keywords, &position, &parameter, &table)) {
        strict |= table == Py_True;
        if (table != Py_None && table != Py_True && !PyDict_CheckExact(table)) {
            PyErr_SetString(PyExc_TypeError, "the values of keywords must be dictionaries, None or True");
            return NULL;
        }
    }
    Call *self = (Call *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->call = call;
    self->most = most;
    self->strict = strict;
    Py_INCREF(wrapper);
    self->wrapper = wrapper;
    Py_INCREF(keywords);
    self->keywords = keywords;
    Py_XINCREF(original);
    self->original = original;
    Py_XINCREF(namespace);
    self->namespace = namespace;
    Py_XINCREF(name);
    self->name = name;
    Py_INCREF(kinds);
    self->kinds = kinds;
    if (leading != Py_None) {
        Py_INCREF(leading);
        self->leading = leading;
        Py_INCREF(copied);
        self->copied = copied;
        self->implied = given(implied);
        self->there = given(there);
        self->overridden = given(overridden);
        self->moved = moved != NULL && PyDict_CheckExact(moved) ? given(moved) : NULL;
    }
    return (PyObject *)self;
}

static int
traverse(Call *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->wrapper);
    Py_VISIT(self->original);
    Py_VISIT(self->namespace);
    Py_VISIT(self->name);
    Py_VISIT(self->keywords);
    Py_VISIT(self->leading);
    Py_VISIT(self->copied);
    Py_VISIT(self->implied);
    Py_VISIT(self->moved);
    Py_VISIT(self->there);
    Py_VISIT(self->overridden);
    Py_VISIT(self->kinds);
    return 0;
}

/* No tp_clear: a call that is under way when the collector runs must find all of these. A cycle through
   one of these objects also goes through its wrapper, whose own tp_clear breaks it. */

static void
dealloc(Call *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Py_XDECREF(self->wrapper);
    Py_XDECREF(self->original);
    Py_XDECREF(self->namespace);
    Py_XDECREF(self->name);
    Py_XDECREF(self->keywords);
    Py_XDECREF(self->leading);
    Py_XDECREF(self->copied);
    Py_XDECREF(self->implied);
    Py_XDECREF(self->moved);
    Py_XDECREF(self->there);
    Py_XDECREF(self->overridden);
    Py_XDECREF(self->kinds);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *
get_attribute(PyObject *object, PyObject *name)
{
    PyObject *wrapper = ((Call *)object)->wrapper;
    if (PyUnicode_CompareWithASCIIString(name, "__module__") == 0) { /* every type has one of its own */
        return PyObject_GetAttr(wrapper, name);
    }
    PyObject *found = PyObject_GenericGetAttr(object, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(wrapper, name);
    }
    return found;
}

static int
set_attribute(PyObject *object, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Call *)object)->wrapper, name, value);
}

static PyObject *
repr(PyObject *object)
{
    return PyObject_Repr(((Call *)object)->wrapper);
}

/* pickle and copy go by where it is found, as they do for functions. */
static PyObject *
reduce(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(((Call *)object)->wrapper, "__qualname__");
}

static PyObject *
bind(PyObject *object, PyObject *instance, PyObject *Py_UNUSED(owner))
{
    if (instance != NULL && instance != Py_None) {
        return PyMethod_New(object, instance);
    }
    Py_INCREF(object);
    return object;
}

/* As a C function does: one that is put into a class does not become a method of it. */
static PyObject *
do_not_bind(PyObject *object, PyObject *Py_UNUSED(instance), PyObject *Py_UNUSED(owner))
{
    Py_INCREF(object);
    return object;
}

/* help() asks past get_attribute. */
static PyObject *
get_documentation(PyObject *object, void *Py_UNUSED(closure))
{
    return PyObject_GetAttrString(((Call *)object)->wrapper, "__doc__");
}

static PyGetSetDef properties[] = {
    {"__doc__", get_documentation, NULL, NULL, NULL},
    {NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Call, call), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Call, weakrefs), READONLY, NULL},
    {"__tdev_wrapper__", T_OBJECT_EX, offsetof(Call, wrapper), READONLY, NULL},
    {NULL},
};

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL},
};

#define SLOTS(get)                                                                                                     \
    {                                                                                                                  \
        {Py_tp_new, new_call}, {Py_tp_dealloc, dealloc}, {Py_tp_traverse, traverse}, {Py_tp_call, PyVectorcall_Call},  \
            {Py_tp_getattro, get_attribute}, {Py_tp_setattro, set_attribute}, {Py_tp_repr, repr},                      \
            {Py_tp_descr_get, get}, {Py_tp_members, members}, {Py_tp_getset, properties}, {Py_tp_methods, methods}, \
            {0, NULL},                                                                                                 \
    }
#define FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE)

static PyType_Slot function_slots[] = SLOTS(do_not_bind);
static PyType_Slot method_slots[] = SLOTS(bind);
static PyType_Spec function_spec = {"tdev_core.shims._calls.Function", sizeof(Call), 0, FLAGS, function_slots};
static PyType_Spec method_spec = {
    "tdev_core.shims._calls.Method", sizeof(Call), 0, FLAGS | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};

/* Stands for the property `device` of tensors, where a moved tensor is on the device that it was moved to. */
typedef struct {
    PyObject_HEAD
    PyObject *original;
    PyObject *moved;
    PyObject *there;
} Getter;

static PyObject *
new_getter(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *original, *moved, *there;
    if (!PyArg_ParseTuple(args, "OO!O:DeviceGetter", &original, &PyDict_Type, &moved, &there)) {
        return NULL;
    }
    if (Py_TYPE(original)->tp_descr_get == NULL || Py_TYPE(original)->tp_descr_set == NULL) {
        PyErr_SetString(PyExc_TypeError, "original must be a data descriptor");
        return NULL;
    }
    Getter *self = (Getter *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->original = given(original);
        self->moved = given(moved);
        self->there = given(there);
    }
    return (PyObject *)self;
}

static int
traverse_getter(Getter *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->original);
    Py_VISIT(self->moved);
    Py_VISIT(self->there);
    return 0;
}

static void
dealloc_getter(Getter *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->original);
    Py_XDECREF(self->moved);
    Py_XDECREF(self->there);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *
get_device(PyObject *object, PyObject *tensor, PyObject *owner)
{
    Getter *self = (Getter *)object;
    if (tensor == NULL || tensor == Py_None) {
        Py_INCREF(object);
        return object;
    }
    PyObject *device = Py_TYPE(self->original)->tp_descr_get(self->original, tensor, owner);
    if (device == NULL) {
        return NULL;
    }
    int there = is_marked(self->moved, tensor);
    if (there != 0) {
        Py_DECREF(device);
        return there < 0 ? NULL : given(self->there);
    }
    return device;
}

static int
set_device(PyObject *object, PyObject *tensor, PyObject *value)
{
    PyObject *original = ((Getter *)object)->original;
    return Py_TYPE(original)->tp_descr_set(original, tensor, value); /* raises torch's own error */
}

static PyObject *
get_getters_attribute(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(object, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(((Getter *)object)->original, name);
    }
    return found;
}

static PyObject *
get_getters_documentation(PyObject *object, void *Py_UNUSED(closure))
{
    return PyObject_GetAttrString(((Getter *)object)->original, "__doc__");
}

static PyGetSetDef getters_properties[] = {
    {"__doc__", get_getters_documentation, NULL, NULL, NULL},
    {NULL},
};

static PyType_Slot getter_slots[] = {
    {Py_tp_getset, getters_properties},
    {Py_tp_new, new_getter},
    {Py_tp_dealloc, dealloc_getter},
    {Py_tp_traverse, traverse_getter},
    {Py_tp_getattro, get_getters_attribute},
    {Py_tp_descr_get, get_device},
    {Py_tp_descr_set, set_device},
    {0, NULL},
};
static PyType_Spec getter_spec = {"tdev_core.shims._calls.DeviceGetter", sizeof(Getter), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                                  getter_slots};

static int
fill(PyObject *module)
{
    if (COPY == NULL) {
        REQUIRES_GRAD = PyUnicode_InternFromString("requires_grad");
        IS_LEAF = PyUnicode_InternFromString("is_leaf");
        COPY = Py_BuildValue("(s)", "copy");
        if (REQUIRES_GRAD == NULL || IS_LEAF == NULL || COPY == NULL) {
            return -1;
        }
    }
    PyType_Spec *specs[] = {&function_spec, &method_spec, &getter_spec};
    for (int i = 0; i < 3; i++) {
        PyObject *type = PyType_FromSpec(specs[i]);
        if (type == NULL) {
            return -1;
        }
        int failed = PyModule_AddType(module, (PyTypeObject *)type);
        Py_DECREF(type);
        if (failed) {
            return -1;
        }
    }
    return PyModule_AddStringConstant(module, "SOURCE", IN_QUOTES(TDEV_SOURCE));
}

/* Two things of this file belong to the process: the strings above, and borrowed references, which the global
   interpreter lock keeps alive. So it is for one interpreter, with that lock; calls.py does not import it into
   a Python that has none, because an import that needs the lock switches it on. */
static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, fill},
#ifdef Py_mod_multiple_interpreters /* 3.12 */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil /* 3.13 */
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tdev_core.shims._calls", NULL, 0, NULL, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit__calls(void)
{
    return PyModuleDef_Init(&definition);
}
